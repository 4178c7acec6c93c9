// SPDX-License-Identifier: Apache-2.0
//
// Plain files and standard input, and the choice of decoder.
#include "daemon/logs/bytes.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <string_view>

namespace collwatch::logs {
namespace {

class File : public Bytes {
 public:
  File(int fd, bool owned, std::string name) : fd_(fd), owned_(owned), name_(std::move(name)) {}
  ~File() override {
    if (owned_) ::close(fd_);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  model::Result<std::size_t> read(char* into, std::size_t room) override {
    for (;;) {
      const ssize_t got = ::read(fd_, into, room);
      if (got >= 0) return static_cast<std::size_t>(got);
      if (errno == EAGAIN) {
        return model::fail(model::ErrorCode::io,
                           name_ + ": cannot be read: nothing comes from it without waiting");
      }
      if (errno != EINTR) return model::fail(model::from_errno(name_, errno));
    }
  }

 private:
  int fd_;
  bool owned_;
  std::string name_;
};

class Text : public Bytes {
 public:
  explicit Text(std::string text) : text_(std::move(text)) {}

  model::Result<std::size_t> read(char* into, std::size_t room) override {
    const std::size_t count = std::min(room, text_.size() - at_);
    std::memcpy(into, text_.data() + at_, count);
    at_ += count;
    return count;
  }

 private:
  std::string text_;
  std::size_t at_ = 0;
};

/// Gives back the first bytes that were read to find out what the rest is.
class Again : public Bytes {
 public:
  Again(std::string head, std::unique_ptr<Bytes> rest)
      : head_(std::move(head)), rest_(std::move(rest)) {}

  model::Result<std::size_t> read(char* into, std::size_t room) override {
    if (at_ == head_.size()) return rest_->read(into, room);
    const std::size_t count = std::min(room, head_.size() - at_);
    std::memcpy(into, head_.data() + at_, count);
    at_ += count;
    return count;
  }

  std::string damage() const override { return rest_->damage(); }

 private:
  std::string head_;
  std::unique_ptr<Bytes> rest_;
  std::size_t at_ = 0;
};

}  // namespace

std::unique_ptr<Bytes> bytes_of(std::string text) {
  return std::make_unique<Text>(std::move(text));
}

std::unique_ptr<Bytes> with_head(std::string head, std::unique_ptr<Bytes> rest) {
  return std::make_unique<Again>(std::move(head), std::move(rest));
}

model::Result<std::unique_ptr<Bytes>> decoded(std::unique_ptr<Bytes> raw) {
  std::string head;
  std::array<char, 4> bytes{};
  while (head.size() < bytes.size()) {
    const auto got = raw->read(bytes.data(), bytes.size() - head.size());
    if (!got) return model::fail(got.error());
    if (*got == 0) break;
    head.append(bytes.data(), *got);
  }
  const bool is_gzip = head.rfind("\x1f\x8b", 0) == 0;
  const bool is_zstd = head.rfind("\x28\xb5\x2f\xfd", 0) == 0;
  std::unique_ptr<Bytes> whole = std::make_unique<Again>(head, std::move(raw));
  if (is_gzip) return gunzip(std::move(whole));
  if (is_zstd) return unzstd(std::move(whole));
  return whole;
}

model::Result<std::unique_ptr<Bytes>> open_bytes(const Source& source) {
  if (source.is_stdin) {
    return decoded(std::make_unique<File>(STDIN_FILENO, false, "standard input"));
  }
  if (!source.problem.empty())
    return model::fail(model::ErrorCode::io, source.name + ": " + source.problem);
  // Some files look like any other and wait for what may never come, as /proc/kmsg does.
  const int waiting = source.may_wait ? 0 : O_NONBLOCK;
  const int fd = ::open(source.name.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | waiting);
  if (fd < 0) return model::fail(model::from_errno(source.name, errno));
  return decoded(std::make_unique<File>(fd, true, source.name));
}

}  // namespace collwatch::logs
