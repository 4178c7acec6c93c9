// SPDX-License-Identifier: Apache-2.0
//
// glob(3) does the matching.
#include "daemon/follow/glob.h"

#include <glob.h>

#include <algorithm>
#include <string_view>

namespace collwatch::follow {
namespace {

constexpr std::string_view kWild = "*?[{\\";

}  // namespace

std::string with_host(const std::string& pattern, const std::string& host) {
  std::string out;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    const char next = i + 1 < pattern.size() ? pattern[i + 1] : '\0';
    if (pattern[i] == '%' && next == 'h') {
      out += host;
      ++i;
    } else if (pattern[i] == '%' && next == '%') {
      out += '%';
      ++i;
    } else {
      out += pattern[i];
    }
  }
  return out;
}

bool names_host(const std::string& pattern) {
  for (std::size_t i = 0; i + 1 < pattern.size(); ++i) {
    if (pattern[i] != '%') continue;
    if (pattern[i + 1] == 'h') return true;
    ++i;
  }
  return false;
}

std::string fixed_folder(const std::string& pattern) {
  const std::size_t wild = std::min(pattern.find_first_of(kWild), pattern.size());
  const std::size_t slash = pattern.rfind('/', wild == 0 ? 0 : wild - 1);
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : pattern.substr(0, slash);
}

std::vector<std::string> matching(const std::string& pattern, std::size_t most) {
  std::vector<std::string> paths;
  glob_t found{};
  if (::glob(pattern.c_str(), GLOB_BRACE, nullptr, &found) == 0) {
    const std::size_t count = std::min<std::size_t>(found.gl_pathc, most);
    paths.assign(found.gl_pathv, found.gl_pathv + count);
  }
  ::globfree(&found);
  return paths;
}

}  // namespace collwatch::follow
