// SPDX-License-Identifier: Apache-2.0
//
// Each shape is read forward from a position; whether something is an address is asked of the
// system's own parser.
#include "daemon/diagnose/redact_shapes.h"

#include <arpa/inet.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <string>

namespace collwatch::diagnose {
namespace {

bool is_alnum(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0;
}
bool is_hex(char c) {
  return std::isxdigit(static_cast<unsigned char>(c)) != 0;
}
bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
bool is_letter(char c) {
  return std::isalpha(static_cast<unsigned char>(c)) != 0;
}
bool is_name(char c) {
  return is_word(c) || c == '-' || c == '.';
}

bool is_innocent(std::string_view address) {
  return address.substr(0, 4) == "127." || address == "0.0.0.0" || address == "::1" ||
         address == "::" || address.substr(0, 11) == "::ffff:127.";
}

bool parses(int family, std::string_view text) {
  std::array<unsigned char, 16> bytes{};
  return text.size() < INET6_ADDRSTRLEN &&
         inet_pton(family, std::string(text).c_str(), bytes.data()) == 1;
}

std::size_t ipv4_at(std::string_view text, std::size_t at) {
  std::size_t end = at;
  while (end < text.size() && (is_digit(text[end]) || text[end] == '.')) ++end;
  while (end > at && text[end - 1] == '.') --end;
  if (end < text.size() && is_alnum(text[end])) return 0;
  return parses(AF_INET, text.substr(at, end - at)) ? end - at : 0;
}

/// With what may stand directly behind it (a port, a colon) left off.
std::size_t ipv6_at(std::string_view text, std::size_t at) {
  std::size_t end = at;
  while (end < text.size() && (is_hex(text[end]) || text[end] == ':' || text[end] == '.')) ++end;
  if (end < text.size() && is_word(text[end])) return 0;  // c10::Error
  std::string_view run = text.substr(at, end - at);
  for (int tries = 0; tries < 3; ++tries) {
    if (run.size() > 2 && parses(AF_INET6, run)) return run.size();
    const std::size_t last = run.find_last_of(":.");
    if (last == std::string_view::npos) return 0;
    run = run.substr(0, last);
  }
  return 0;
}

/// Ethernet's six pairs of digits, InfiniBand's twenty.
std::size_t hardware_at(std::string_view text, std::size_t at) {
  std::size_t end = at;
  int pairs = 0;
  while (end + 2 <= text.size() && is_hex(text[end]) && is_hex(text[end + 1])) {
    ++pairs;
    end += 2;
    if (end >= text.size() || text[end] != ':') break;
    ++end;
  }
  if (end > at && text[end - 1] == ':') --end;
  const bool goes_on = end < text.size() && is_word(text[end]);
  return pairs >= 6 && !goes_on ? end - at : 0;
}

std::string_view name_at(std::string_view text, std::size_t at) {
  std::size_t end = at;
  while (end < text.size() && is_name(text[end])) ++end;
  while (end > at && (text[end - 1] == '.' || text[end - 1] == '-')) --end;
  return text.substr(at, end - at);
}

std::string_view name_before(std::string_view text, std::size_t end) {
  std::size_t start = end;
  while (start > 0 && is_name(text[start - 1])) --start;
  return text.substr(start, end - start);
}

bool has_letter(std::string_view name) {
  return std::any_of(name.begin(), name.end(), is_letter);
}

/// A word of prose is not taken for a host only because it follows "host".
bool is_surely_a_name(std::string_view name) {
  return has_letter(name) && name.find_first_of("0123456789-") != std::string_view::npos;
}

/// What stands before a host, and whether that alone proves it to be one.
struct Before {
  std::string_view text;
  bool is_proof;
};
constexpr std::array<Before, 13> kBeforeHost = {{{"://", true},
                                                 {"network address of (", true},
                                                 {"connect to (", true},
                                                 {"connect to [", true},
                                                 {"connect to ", false},
                                                 {"connecting to ", false},
                                                 {"connection to ", false},
                                                 {"resolve host: ", true},
                                                 {"srun: error: ", true},
                                                 {"on node ", false},
                                                 {"on host ", false},
                                                 {"from host ", false},
                                                 {" ON ", true}}};
/// What a key ends with whose value is a host: MASTER_ADDR=, "_HOSTNAME":", --rdzv_endpoint=.
constexpr std::array<std::string_view, 11> kHostKeys = {
    "host",     "hostname", "nodename", "node_name", "master_addr", "endpoint",
    "pod_name", "podname",  "pod",      "node",      "machine"};
constexpr std::array<std::string_view, 4> kListKeys = {
    "nodelist=", "nodes=", "hosts=", "hostlist="};
/// What no module of a program ends with.
constexpr std::array<std::string_view, 16> kDomains = {
    "com", "org", "net",     "edu",     "gov", "io", "local", "internal",
    "lan", "svc", "example", "cluster", "de",  "uk", "corp",  "intra"};
constexpr std::array<std::string_view, 9> kBeforeUser = {"user=",     "User=",    "USER=",
                                                         "username=", "LOGNAME=", "for user ",
                                                         "by user ",  "User: ",   "\"user\":\""};
constexpr std::array<std::string_view, 3> kBeforeUid = {"uid=", "UID:", "UID "};
constexpr std::array<std::string_view, 4> kHomes = {"/home/", "/Users/", "\\Users\\", "/users/"};

bool matches_at(std::string_view text, std::size_t at, std::string_view what) {
  const bool is_cut_off = at > 0 && is_word(what[0]) && is_word(text[at - 1]);
  return !is_cut_off && text.substr(at, what.size()) == what;
}

/// The first slash behind "scheme://host:port"; an agent's own addresses tell nothing.
bool is_path_of_url(std::string_view text, std::size_t at) {
  for (const std::string_view own : {"/api/v1", "/metrics", "/healthz"}) {
    if (text.substr(at, own.size()) == own) return false;
  }
  std::size_t start = at;
  while (start > 0 && (is_name(text[start - 1]) || text[start - 1] == ':' ||
                       text[start - 1] == '[' || text[start - 1] == ']')) {
    --start;
  }
  // What was read is "host:port", and where there is none, the scheme's own colon.
  return start < at && start >= 2 && text.substr(start - 2, 2) == "//" && start >= 3 &&
         text[start - 3] == ':';
}

/// The same on every machine: tells nothing about anybody's.
bool is_everywhere(std::string_view path) {
  static constexpr std::array<std::string_view, 6> kSystem = {
      "/dev/", "/proc/", "/sys/", "/usr/lib/", "/usr/share/", "/usr/bin/"};
  return std::any_of(kSystem.begin(), kSystem.end(),
                     [&](std::string_view start) { return path.substr(0, start.size()) == start; });
}

/// The key in front of a value at `at` that a sign or a quote introduces, in lower case.
std::string key_before(std::string_view text, std::size_t at, bool& is_sure) {
  std::size_t end = at;
  const auto back = [&](char c) { return end > 0 && text[end - 1] == c ? (--end, true) : false; };
  const bool quoted = back('"') || back('\'');
  const bool blank = back(' ');
  const bool equals = back('=');
  if (!equals && !back(':')) return "";
  const bool quoted_key = back('"') || back('\'');
  // "host: x" may be a sentence.
  is_sure = equals ? !blank : (quoted && quoted_key) || !blank;
  std::string key(name_before(text, end));
  std::transform(key.begin(), key.end(), key.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return key;
}

bool ends_with(std::string_view text, std::string_view end) {
  return text.size() >= end.size() && text.substr(text.size() - end.size()) == end;
}

/// A host by its key. Whatever stands for "nobody" is none.
bool is_keyed_host(std::string_view text, std::size_t at, std::string_view name) {
  static constexpr std::array<std::string_view, 8> kNobody = {
      "none", "None", "null", "true", "false", "localhost", "unknown", "any"};
  if (std::find(kNobody.begin(), kNobody.end(), name) != kNobody.end()) return false;
  bool is_sure = false;
  const std::string key = key_before(text, at, is_sure);
  const bool is_host = std::any_of(kHostKeys.begin(), kHostKeys.end(),
                                   [&](std::string_view one) { return ends_with(key, one); });
  const bool is_setting = key.find('_') != std::string::npos || ends_with(key, "hostname");
  return is_host && (is_sure || is_setting || is_surely_a_name(name));
}

bool is_source_file(std::string_view name) {
  static constexpr std::array<std::string_view, 12> kEndings = {
      ".py", ".pyx", ".c", ".cc", ".cpp", ".cu", ".cuh", ".h", ".hpp", ".go", ".rs", ".inl"};
  return std::any_of(kEndings.begin(), kEndings.end(),
                     [&](std::string_view ending) { return ends_with(name, ending); });
}

/// "[gpu-a17:4711]", "gpu-a17:29500", "gpu-a17 train[4711]: ": a port or a pid stands behind it.
bool is_numbered_host(std::string_view text, std::size_t at, std::string_view name) {
  if (is_source_file(name)) return false;
  std::size_t end = at + name.size();
  const auto digits_at = [&](std::size_t from) {
    std::size_t count = 0;
    while (from + count < text.size() && is_digit(text[from + count])) ++count;
    return count;
  };
  if (end < text.size() && text[end] == ':') {
    const std::size_t digits = digits_at(end + 1);
    if (at > 0 && text[at - 1] == '[' && digits > 0) {
      return (digits > 2 || is_surely_a_name(name)) && name.substr(0, 4) != "rank";
    }
    return digits > 3 && is_surely_a_name(name);
  }
  if (end >= text.size() || text[end] != ' ' || !is_surely_a_name(name)) return false;
  const std::string_view program = name_at(text, end + 1);
  end += 1 + program.size();
  if (program.empty() || !is_letter(program[0]) || text.substr(end, 1) != "[") return false;
  const std::size_t digits = digits_at(end + 1);
  return digits > 0 && text.substr(end + 1 + digits, 2) == "]:";
}

/// "gpu-a17.lab.example.org", but not "torch.distributed.run".
bool is_domain(std::string_view name) {
  const std::size_t dot = name.rfind('.');
  if (dot == std::string_view::npos || dot == 0) return false;
  const std::string_view last = name.substr(dot + 1);
  return std::find(kDomains.begin(), kDomains.end(), last) != kDomains.end();
}

/// "alice@node-a": where `at` is the sign between them.
bool is_login(std::string_view text, std::size_t at) {
  const std::string_view user = name_before(text, at);
  const std::string_view host = name_at(text, at + 1);
  return text[at] == '@' && user.size() >= 2 && host.size() >= 2 && is_letter(user[0]) &&
         is_letter(host[0]);
}

}  // namespace

bool is_word(char c) {
  return is_alnum(c) || c == '_';
}

std::size_t address_at(std::string_view text, std::size_t at) {
  if (!is_hex(text[at]) && text[at] != ':') return 0;
  if (at > 0 && (is_alnum(text[at - 1]) || text[at - 1] == '.')) return 0;
  std::size_t length = ipv4_at(text, at);
  if (length == 0) length = hardware_at(text, at);
  if (length == 0) length = ipv6_at(text, at);
  return is_innocent(text.substr(at, length)) ? 0 : length;
}

std::size_t path_at(std::string_view text, std::size_t at) {
  const char before = at > 0 ? text[at - 1] : ' ';
  const bool is_dos = is_letter(text[at]) && text.substr(at + 1, 2) == ":\\" && !is_word(before);
  const bool is_home = text[at] == '~' && !is_word(before) && before != '/';
  // file:///home/alice: the third of them.
  const bool is_url = text[at] == '/' && at >= 3 && text.substr(at - 3, 3) == "://";
  const bool is_flag = at >= 2 && is_letter(before) && text[at - 2] == '-' &&
                       (at == 2 || text[at - 3] == ' ');  // -I/opt/x
  const bool is_of_url = text[at] == '/' && is_path_of_url(text, at);
  const bool is_root = text[at] == '/' && (!is_word(before) || is_flag) && before != '.' &&
                       before != '/' && before != '~' && text.substr(at, 2) != "//";
  if (!is_dos && !is_home && !is_url && !is_of_url && !is_root) return 0;
  const std::string_view more = is_dos ? "\\.-+@%~= " : "/.-+@%~=#";
  std::size_t end = at + (is_dos ? 2 : 1);
  while (end < text.size() &&
         (is_word(text[end]) || more.find(text[end]) != std::string_view::npos)) {
    ++end;
  }
  const std::string_view path = text.substr(at, end - at);
  if (is_everywhere(path)) return 0;
  const auto parts = std::count(path.begin(), path.end(), is_dos ? '\\' : '/');
  return parts >= (is_home || is_of_url ? 1 : 2) ? path.size() : 0;
}

std::size_t uid_at(std::string_view text, std::size_t at) {
  std::size_t end = at;
  while (end < text.size() && is_digit(text[end])) ++end;
  if (end == at || (end < text.size() && is_word(text[end]))) return 0;
  const std::string_view before = text.substr(0, at);
  const bool is_uid = std::any_of(kBeforeUid.begin(), kBeforeUid.end(), [&](std::string_view word) {
    return before.size() >= word.size() && matches_at(before, before.size() - word.size(), word);
  });
  return is_uid ? end - at : 0;
}

std::size_t host_list_at(std::string_view text, std::size_t at) {
  const std::size_t most = std::min<std::size_t>(at, 16);
  std::string before(text.substr(at - most, most));
  std::transform(before.begin(), before.end(), before.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  if (std::none_of(kListKeys.begin(), kListKeys.end(),
                   [&](std::string_view key) { return ends_with(before, key); })) {
    return 0;
  }
  std::size_t end = at;
  while (end < text.size() &&
         (is_name(text[end]) || text[end] == ',' || text[end] == '[' || text[end] == ']')) {
    ++end;
  }
  return has_letter(text.substr(at, end - at)) ? end - at : 0;
}

std::vector<std::string> hosts_in(std::string_view text) {
  std::vector<std::string> hosts;
  const auto add = [&](std::string_view name, bool is_proof) {
    if (has_letter(name) && (is_proof || is_surely_a_name(name))) hosts.emplace_back(name);
  };
  for (std::size_t at = 0; at < text.size(); ++at) {
    for (const Before& before : kBeforeHost) {
      if (matches_at(text, at, before.text))
        add(name_at(text, at + before.text.size()), before.is_proof);
    }
    if (is_login(text, at)) add(name_at(text, at + 1), true);
    if (!is_word(text[at]) || (at > 0 && is_word(text[at - 1]))) continue;
    const std::string_view name = name_at(text, at);
    if (name.empty() || !has_letter(name)) continue;
    const std::size_t end = at + name.size();
    const bool is_inside = at > 0 && is_name(text[at - 1]);
    if (at > 0 && text[at - 1] == '[' && text.substr(end, 2) == "]:" && end + 2 < text.size() &&
        is_digit(text[end + 2]) && name.size() > 1) {
      add(name, true);
    }
    // [proxy:0:1@gpu-a17], [mpiexec@gpu-a17]
    if (at > 1 && text[at - 1] == '@' && text.substr(end, 1) == "]") add(name, true);
    if (!is_inside &&
        (is_keyed_host(text, at, name) || is_numbered_host(text, at, name) || is_domain(name))) {
      add(name, true);
    }
    // ip-10-0-0-4.ec2.internal: an address in other clothes.
    if (name.substr(0, 3) == "ip-" && std::count(name.begin(), name.end(), '-') >= 4)
      add(name, true);
  }
  return hosts;
}

std::vector<std::string> users_in(std::string_view text) {
  std::vector<std::string> users;
  const auto add = [&](std::string_view name) {
    static constexpr std::array<std::string_view, 12> kNobody = {
        "root", "user",   "users", "nobody", "ubuntu", "app",
        "work", "runner", "None",  "True",   "False",  "null"};
    if (name.size() >= 2 && std::find(kNobody.begin(), kNobody.end(), name) == kNobody.end())
      users.emplace_back(name);
  };
  for (std::size_t at = 0; at < text.size(); ++at) {
    for (const std::string_view home : kHomes) {
      if (text.substr(at, home.size()) == home) add(name_at(text, at + home.size()));
    }
    for (const std::string_view before : kBeforeUser) {
      if (matches_at(text, at, before)) add(name_at(text, at + before.size()));
    }
    if (text[at] == '~') add(name_at(text, at + 1));
    if (is_login(text, at)) add(name_before(text, at));
  }
  return users;
}

}  // namespace collwatch::diagnose
