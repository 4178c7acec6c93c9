// SPDX-License-Identifier: Apache-2.0
//
// The kernel's walk along a path, done here part by part with O_PATH and O_NOFOLLOW, so that the
// owner of each link is known.
#include "daemon/follow/open_log.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <string_view>
#include <utility>
#include <vector>

namespace collwatch::follow {
namespace {

using supervise::UniqueFd;

constexpr std::size_t kMostLinks = 40;  ///< as the kernel
constexpr int kLook = O_PATH | O_NOFOLLOW | O_CLOEXEC;

class Walk {
 public:
  explicit Walk(const std::string& path) : path_(path) {}

  model::Result<UniqueFd> run() {
    if (!begin(path_)) return fail(errno);
    while (!left_.empty()) {
      const std::string name = std::exchange(left_.back(), {});
      left_.pop_back();
      UniqueFd part(::openat(at_.get(), name.c_str(), kLook));
      struct stat info {};
      if (!part || ::fstat(part.get(), &info) != 0) return fail(errno);
      if (S_ISLNK(info.st_mode)) {
        if (!enter_link(part, name, info.st_uid)) return fail(errno);
      } else if (left_.empty()) {
        return open_file(name, info);
      } else {
        at_ = std::move(part);
        where_ += "/" + name;
      }
    }
    return not_a_file();
  }

 private:
  struct Link {
    std::string path;
    uid_t owner;
  };

  model::Result<UniqueFd> fail(int number) const {
    return model::fail(model::from_errno("open " + path_, number));
  }
  model::Result<UniqueFd> not_a_file() const {
    return model::fail(model::ErrorCode::invalid_argument, path_ + " is not a file");
  }

  /// Goes on with `path`: from the root where it begins there, else from where the walk is.
  bool begin(std::string_view path) {
    if (!path.empty() && path.front() == '/') {
      at_ = UniqueFd(::open("/", O_PATH | O_DIRECTORY | O_CLOEXEC));
      where_.clear();
    } else if (!at_) {
      at_ = UniqueFd(::open(".", O_PATH | O_DIRECTORY | O_CLOEXEC));
      where_ = ".";
    }
    std::vector<std::string> parts;
    while (!path.empty()) {
      const std::size_t end = std::min(path.find('/'), path.size());
      if (end > 0 && path.substr(0, end) != ".") parts.emplace_back(path.substr(0, end));
      path.remove_prefix(std::min(end + 1, path.size()));
    }
    left_.insert(left_.end(), parts.rbegin(), parts.rend());
    return static_cast<bool>(at_);
  }

  bool enter_link(const UniqueFd& link, const std::string& name, uid_t owner) {
    char target[4096];
    const ssize_t size = ::readlinkat(link.get(), "", target, sizeof target);
    if (size < 0) return false;
    if (links_.size() >= kMostLinks || size == 0 || size == sizeof target) {
      errno = ELOOP;
      return false;
    }
    links_.push_back({where_ + "/" + name, owner});
    return begin({target, static_cast<std::size_t>(size)});
  }

  model::Result<UniqueFd> open_file(const std::string& name, const struct stat& looked_at) const {
    if (!S_ISREG(looked_at.st_mode)) return not_a_file();
    const uid_t owner = looked_at.st_uid;
    for (const Link& link : links_) {
      if (link.owner == 0 || link.owner == ::geteuid() || link.owner == owner) continue;
      return model::fail(model::ErrorCode::permission,
                         link.path + ": not followed, a link that user " +
                             std::to_string(link.owner) + " made to what is user " +
                             std::to_string(owner) + "'s (docs/watch.md)");
    }
    UniqueFd file(::openat(at_.get(), name.c_str(),
                           O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
    struct stat info {};
    if (!file || ::fstat(file.get(), &info) != 0) return fail(errno);
    if (info.st_dev != looked_at.st_dev || info.st_ino != looked_at.st_ino) return fail(ESTALE);
    return file;
  }

  const std::string& path_;
  UniqueFd at_;
  std::string where_;              ///< at_, as it was reached
  std::vector<std::string> left_;  ///< the parts still to go, the next one last
  std::vector<Link> links_;        ///< that were passed
};

}  // namespace

model::Result<supervise::UniqueFd> open_log(const std::string& path) {
  return Walk(path).run();
}

}  // namespace collwatch::follow
