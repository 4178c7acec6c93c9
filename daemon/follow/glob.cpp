// SPDX-License-Identifier: Apache-2.0
//
// glob(3) does the matching.
#include "daemon/follow/glob.h"

#include <dirent.h>
#include <glob.h>
#include <sys/stat.h>

#include <algorithm>
#include <string_view>

namespace collwatch::follow {
namespace {

constexpr std::string_view kWild = "*?[{\\";

/// How far this thread's look has come; glob(3) hands its callbacks nothing of ours.
struct Look {
  std::size_t left = kMostLooks;
  std::chrono::steady_clock::time_point until = std::chrono::steady_clock::now() + kLongestLook;
  bool is_cut = false;

  bool go_on() {
    is_cut = is_cut || left == 0 || std::chrono::steady_clock::now() >= until;
    if (!is_cut) --left;
    return !is_cut;
  }
};
thread_local Look look;

void count_looks(glob_t& found) {
  found.gl_opendir = [](const char* name) -> void* {
    return look.go_on() ? ::opendir(name) : nullptr;
  };
  found.gl_readdir = [](void* folder) -> dirent* {
    return look.go_on() ? ::readdir(static_cast<DIR*>(folder)) : nullptr;
  };
  found.gl_closedir = [](void* folder) { ::closedir(static_cast<DIR*>(folder)); };
  found.gl_stat = [](const char* name, struct stat* info) {
    return look.go_on() ? ::stat(name, info) : -1;
  };
  found.gl_lstat = [](const char* name, struct stat* info) {
    return look.go_on() ? ::lstat(name, info) : -1;
  };
}

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

Matches matching(const std::string& pattern, std::size_t most) {
  Matches matches;
  look = Look{};
  glob_t found{};
  count_looks(found);
  if (::glob(pattern.c_str(), GLOB_BRACE | GLOB_ALTDIRFUNC, nullptr, &found) == 0) {
    const std::size_t count = std::min<std::size_t>(found.gl_pathc, most);
    matches.paths.assign(found.gl_pathv, found.gl_pathv + count);
  }
  ::globfree(&found);
  matches.is_cut = look.is_cut;
  return matches;
}

}  // namespace collwatch::follow
