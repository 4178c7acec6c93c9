// SPDX-License-Identifier: Apache-2.0
//
// mountinfo has a line a mount: "36 35 98:0 /root /where opts - type source super".
#include "daemon/follow/mounts.h"

#include <algorithm>
#include <array>
#include <fstream>
#include <iterator>

namespace collwatch::follow {
namespace {

constexpr std::array kShared = {
    std::string_view("nfs"),      std::string_view("nfs4"),   std::string_view("cifs"),
    std::string_view("smb3"),     std::string_view("lustre"), std::string_view("gpfs"),
    std::string_view("ceph"),     std::string_view("9p"),     std::string_view("afs"),
    std::string_view("beegfs"),   std::string_view("pvfs2"),  std::string_view("orangefs"),
    std::string_view("virtiofs"), std::string_view("wekafs"), std::string_view("panfs"),
    std::string_view("gfs2"),     std::string_view("ocfs2"),  std::string_view("glusterfs"),
    std::string_view("fuse"),     std::string_view("coda"),   std::string_view("ncpfs")};

/// The blank-separated word number `index`, from 0.
std::string_view word(std::string_view line, std::size_t index) {
  for (;; --index) {
    const std::size_t end = std::min(line.find(' '), line.size());
    if (index == 0) return line.substr(0, end);
    if (end == line.size()) return {};
    line.remove_prefix(end + 1);
  }
}

/// Blanks and the like are written as \040.
std::string unescaped(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool is_octal =
        text[i] == '\\' && i + 3 < text.size() &&
        text.substr(i + 1, 3).find_first_not_of("01234567") == std::string_view::npos;
    if (!is_octal) {
      out += text[i];
      continue;
    }
    out +=
        static_cast<char>((text[i + 1] - '0') * 64 + (text[i + 2] - '0') * 8 + (text[i + 3] - '0'));
    i += 3;
  }
  return out;
}

bool lies_below(std::string_view path, std::string_view folder) {
  if (folder == "/") return !path.empty() && path.front() == '/';
  return path.substr(0, folder.size()) == folder &&
         (path.size() == folder.size() || path[folder.size()] == '/');
}

}  // namespace

Mounts::Mounts(std::string_view mountinfo) {
  while (!mountinfo.empty()) {
    const std::size_t end = std::min(mountinfo.find('\n'), mountinfo.size());
    const std::string_view line = mountinfo.substr(0, end);
    mountinfo.remove_prefix(std::min(end + 1, mountinfo.size()));
    const std::size_t dash = line.find(" - ");
    if (dash == std::string_view::npos) continue;
    mounts_.emplace_back(unescaped(word(line, 4)), std::string(word(line.substr(dash + 3), 0)));
  }
}

Mounts Mounts::now() {
  std::ifstream file("/proc/self/mountinfo");
  return Mounts(std::string(std::istreambuf_iterator<char>(file), {}));
}

std::string Mounts::type_of(std::string_view path) const {
  const std::pair<std::string, std::string>* best = nullptr;
  for (const auto& mount : mounts_) {
    // Of two mounts at one place the later one is on top.
    if (lies_below(path, mount.first) &&
        (best == nullptr || mount.first.size() >= best->first.size())) {
      best = &mount;
    }
  }
  return best == nullptr ? "" : best->second;
}

bool Mounts::is_shared(std::string_view path) const {
  const std::string type = type_of(path);
  return type.rfind("fuse.", 0) == 0 ||
         std::find(kShared.begin(), kShared.end(), std::string_view(type)) != kShared.end();
}

}  // namespace collwatch::follow
