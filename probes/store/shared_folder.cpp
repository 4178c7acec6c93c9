// SPDX-License-Identifier: Apache-2.0
//
// Files are replaced as a whole, by rename, so that nobody reads half of one.
#include "probes/store/shared_folder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <optional>
#include <string_view>
#include <utility>
#include <variant>

namespace collwatch::store_probe {
namespace {

constexpr std::size_t kLargestFile = 65536;

/// Of linux/magic.h and the file systems' own sources; what training clusters have.
constexpr std::array<std::pair<std::uint32_t, std::string_view>, 19> kFileSystems = {
    {{0xef53, "ext4"},
     {0x58465342, "xfs"},
     {0x9123683e, "btrfs"},
     {0x01021994, "tmpfs"},
     {0x794c7630, "overlay"},
     {0x6969, "nfs"},
     {0x0bd00bd0, "lustre"},
     {0x47504653, "gpfs"},
     {0x00c36400, "ceph"},
     {0x65735546, "fuse"},
     {0x01021997, "9p"},
     {0xff534d42, "cifs"},
     {0xfe534d42, "smb2"},
     {0x2fc12fc1, "zfs"},
     {0x19830326, "beegfs"},
     {0xaad7aaea, "panfs"},
     {0x73717368, "squashfs"},
     {0x858458f6, "ramfs"},
     {0x5346414f, "afs"}}};

class File {
 public:
  explicit File(int fd) : fd_(fd) {}
  ~File() {
    if (fd_ >= 0) ::close(fd_);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  int fd() const { return fd_; }

 private:
  int fd_;
};

std::string path_of(const std::string& folder, const std::string& member) {
  return folder + "/.collwatch-" + member;
}

/// A file of `member`, nullopt where there is none or it is something else.
std::optional<wire::StoreMember> read_member(const std::string& folder, const std::string& member) {
  const File file(
      ::open(path_of(folder, member).c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  struct stat found {};
  if (file.fd() < 0 || ::fstat(file.fd(), &found) != 0 || !S_ISREG(found.st_mode))
    return std::nullopt;
  std::string text(kLargestFile, '\0');
  const ssize_t got = ::read(file.fd(), text.data(), text.size());
  if (got <= 0) return std::nullopt;
  text.resize(static_cast<std::size_t>(got));
  auto message = wire::decode_from_store(text);
  if (!message) return std::nullopt;
  auto* const told = std::get_if<wire::StoreMember>(&*message);
  if (told == nullptr || told->name != member) return std::nullopt;
  return std::move(*told);
}

std::string error_of(const std::string& what) {
  return what + ": " + std::strerror(errno);
}

/// Empty: it is written, and locks work there.
std::string write_member(const std::string& folder, const wire::StoreMember& member) {
  const std::string path = path_of(folder, member.name);
  const std::string fresh = path + ".new";
  ::unlink(fresh.c_str());  // of a look that was given up
  const File file(
      ::open(fresh.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0644));
  if (file.fd() < 0) return error_of("a file cannot be made");
  std::string error;
  const std::string text = wire::encode(wire::FromStore(member));
  if (::flock(file.fd(), LOCK_EX | LOCK_NB) != 0) {
    error = error_of("flock, which a FileStore needs");
  } else if (::write(file.fd(), text.data(), text.size()) != static_cast<ssize_t>(text.size())) {
    error = error_of("a file cannot be written");
  } else if (::fsync(file.fd()) != 0) {
    error = error_of("a file cannot be synced");
  } else if (std::rename(fresh.c_str(), path.c_str()) != 0) {
    error = error_of("a file cannot be renamed");
  }
  if (!error.empty()) ::unlink(fresh.c_str());
  return error;
}

}  // namespace

std::string filesystem_of(const std::string& path) {
  struct statfs found {};
  if (::statfs(path.c_str(), &found) != 0) return "";
  const auto magic = static_cast<std::uint32_t>(found.f_type);
  const auto* const known = std::find_if(kFileSystems.begin(), kFileSystems.end(),
                                         [magic](const auto& each) { return each.first == magic; });
  if (known != kFileSystems.end()) return std::string(known->second);
  std::array<char, 16> number{};
  (void)std::snprintf(number.data(), number.size(), "0x%x", magic);
  return number.data();
}

Look look_at(const std::string& path, const std::string& name,
             const std::vector<std::string>& others) {
  Look look;
  look.folder.filesystem = filesystem_of(path);
  wire::StoreMember own;
  own.name = name;
  if (const auto before = read_member(path, name)) own.sequence = before->sequence;
  ++own.sequence;
  look.folder.error = write_member(path, own);
  for (const std::string& other : others) {
    if (auto found = read_member(path, other)) look.members.push_back(std::move(*found));
  }
  return look;
}

}  // namespace collwatch::store_probe
