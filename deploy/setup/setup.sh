#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Makes sure that what collwatch needs is installed: `setup.sh demo` for `make run` and `make build`,
# `setup.sh test` for `make test`. Looks for features (a command, a header) and never for a
# distribution's name; whatever is there already, from wherever it came, is left alone, so a second
# call does nothing and takes no time. Where something is missing:
#   apt-get and root           installs it (as few packages as possible, never libtorch)
#   apt-get, not root          prints the exact command to run, exit 2
#   another package system     prints what is needed, exit 2
# `--print` only prints the packages that would be installed. Called by the Makefile.
set -euo pipefail

usage() {
  echo "usage: setup.sh demo|test [--print]" >&2
  exit 2
}

# kind | what to look for | Debian package | what it is for
# Headers may list alternatives separated by a comma: any one will do.
readonly demo_features='
command|%cxx|g++|C++20 compiler (g++ 12 or newer)
command|cmake|cmake|build system generator (3.25 or newer)
command|ninja|ninja-build|build tool
command|pkg-config|pkg-config|finds libraries without CMake files
command|ccache|ccache|makes rebuilds cheap
command|ip|iproute2|network namespaces of the demo
command|iptables|iptables|faults of the demo
header|gloo/context.h|libgloo-dev|Gloo, the collectives under test
header|prometheus/registry.h|prometheus-cpp-dev|metric families and their text form
header|spdlog/spdlog.h|libspdlog-dev|log
header|fmt/core.h|libfmt-dev|string formatting under the log
header|CLI/CLI.hpp|libcli11-dev|command lines
header|yaml-cpp/yaml.h|libyaml-cpp-dev|configuration files
header|nlohmann/json.hpp|nlohmann-json3-dev|JSON and CBOR
header|tl/expected.hpp|libexpected-dev|results without exceptions
header|microhttpd.h|libmicrohttpd-dev|HTTP server
header|curl/curl.h|libcurl4-openssl-dev|HTTP client
header|openssl/evp.h|libssl-dev|message authentication
header|re2/re2.h|libre2-dev|patterns of the catalogue
header|zlib.h|zlib1g-dev|compressed logs
header|zstd.h|libzstd-dev|compressed logs
'
readonly test_features='
header|catch2/catch_test_macros.hpp,catch2/catch.hpp|catch2|unit tests (Catch2 2 or 3)
command|prometheus|prometheus|end-to-end tests scrape with it
command|promtool|promtool|checks metrics and alert rules
command|prometheus-alertmanager|prometheus-alertmanager|end-to-end tests page through it
command|python3|python3|policy checks
python|jsonschema|python3-jsonschema|checks JSON against docs/schema
file|/usr/lib*/*/faketime/libfaketimeMT.so.1|libfaketime|sets the clock of one agent in fault tests
'

[ $# -ge 1 ] || usage
case "$1" in
  demo) features=$demo_features ;;
  test) features=$demo_features$test_features ;;
  *) usage ;;
esac
case "${2:-}" in
  '') print_only=no ;;
  --print) print_only=yes ;;
  *) usage ;;
esac
[ $# -le 2 ] || usage

compiler=${CXX:-g++}
# ip, iptables and the Prometheus programs may lie outside an ordinary user's PATH.
export PATH="$PATH:/usr/local/sbin:/usr/sbin:/sbin"

# Headers that the compiler cannot include, one name a line: all of them without a compiler, else by
# a single run of the preprocessor.
missing_headers() {
  local name alternative condition
  if ! command -v "$compiler" >/dev/null; then
    printf '%s\n' "$@"
    return
  fi
  for name in "$@"; do
    condition=
    for alternative in ${name//,/ }; do
      condition+="${condition:+ && }!__has_include(<$alternative>)"
    done
    printf '#if %s\nMISSING %s\n#endif\n' "$condition" "${name//[,]/@}"
  done | "$compiler" -x c++ -std=c++20 -E -P - | sed -n 's/^ *MISSING //p' | tr -d ' ' | tr '@' ','
}

# Fills `missing` with the lines of `features` that this machine lacks.
find_missing() {
  local kind probe package purpose absent=" "
  local headers=()
  missing=()
  while IFS='|' read -r kind probe package purpose; do
    [ "$kind" = header ] && headers+=("$probe")
  done <<<"$features"
  absent=" $(missing_headers "${headers[@]}" | tr '\n' ' ')"
  while IFS='|' read -r kind probe package purpose; do
    case "$kind" in
      command)
        [ "$probe" = %cxx ] && probe=$compiler
        command -v "$probe" >/dev/null || missing+=("$package|$probe|$purpose")
        ;;
      header) [[ $absent != *" $probe "* ]] || missing+=("$package|<${probe/,/> or <}>|$purpose") ;;
      file) compgen -G "$probe" >/dev/null || missing+=("$package|$probe|$purpose") ;;
      python) python3 -c "import $probe" 2>/dev/null || missing+=("$package|$probe|$purpose") ;;
    esac
  done <<<"$features"
}

apt() {
  DEBIAN_FRONTEND=noninteractive apt-get -q -y -o Acquire::Retries=3 -o DPkg::Lock::Timeout=300 \
    -o Dpkg::Use-Pty=0 "$@" </dev/null
}

known_to_apt() { apt-cache show --no-all-versions "$1" >/dev/null 2>&1; }

# The packages of `missing`. promtool is a package of its own on newer systems and part of
# prometheus on older ones.
packages_of_missing() {
  local line package
  for line in "${missing[@]}"; do
    package=${line%%|*}
    if [ "$package" = promtool ] && ! known_to_apt promtool; then package=prometheus; fi
    echo "$package"
  done | sort -u
}

install_missing() {
  local packages attempt
  mapfile -t packages < <(packages_of_missing)
  # Package lists cost more than some of the packages: only where they are missing or out of date.
  for package in "${packages[@]}"; do
    if ! known_to_apt "$package"; then
      apt update
      mapfile -t packages < <(packages_of_missing)
      break
    fi
  done
  for attempt in 1 2 3; do
    if apt install --no-install-recommends "${packages[@]}"; then return 0; fi
    echo "setup: apt-get install failed (attempt $attempt of 3)" >&2
    [ "$attempt" = 3 ] || apt update || true
  done
  return 1
}

find_missing
if [ "$print_only" = yes ]; then
  [ ${#missing[@]} = 0 ] || packages_of_missing
  exit 0
fi
[ ${#missing[@]} != 0 ] || exit 0

if ! command -v apt-get >/dev/null; then
  echo "setup: this system has no apt-get; please install what is missing:" >&2
  for line in "${missing[@]}"; do
    IFS='|' read -r package probe purpose <<<"$line"
    printf '  %-32s %s (Debian: %s)\n' "$probe" "$purpose" "$package" >&2
  done
  exit 2
fi
if [ "$(id -u)" != 0 ]; then
  echo "setup: some packages are missing and only root may install them. Please run:" >&2
  echo "  sudo apt-get update && sudo apt-get install --no-install-recommends" \
    "$(packages_of_missing | tr '\n' ' ')" >&2
  exit 2
fi

install_missing
find_missing
if [ ${#missing[@]} != 0 ]; then
  echo "setup: still missing after installation:" >&2
  for line in "${missing[@]}"; do
    IFS='|' read -r package probe purpose <<<"$line"
    printf '  %-32s %s (Debian: %s)\n' "$probe" "$purpose" "$package" >&2
  done
  exit 1
fi
if [ "$1" = test ] && [ -d /run/systemd/system ]; then
  echo "setup: Debian starts prometheus and prometheus-alertmanager as services; the tests do not use"
  echo "       those. To stop them: systemctl disable --now prometheus prometheus-alertmanager"
fi
