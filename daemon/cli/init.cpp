// SPDX-License-Identifier: Apache-2.0
//
// `config init`: one configuration that fits every node, and a fresh secret beside it. Overwrites
// nothing; a half-written pair is taken back.
#include <fcntl.h>
#include <sys/random.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <filesystem>
#include <iostream>

#include "daemon/cli/commands.h"
#include "daemon/config/keys.h"
#include "daemon/config/load.h"

namespace collwatch::cli {
namespace {

constexpr const char* kConfigName = "collwatch.yaml";
constexpr const char* kTokenName = "collwatch.token";

constexpr const char* kHead =
    R"(# Written by `collwatch config init`. The same file and the same token go to every node; each
# finds itself among the members by its host name. All other keys are at their defaults:
# `collwatch config print --config FILE` shows them.
node: auto
peers:
  token_file: collwatch.token   # beside this file; the same on all nodes, mode 0600
membership:
)";

model::Result<std::string> fresh_token() {
  std::array<unsigned char, 32> bytes{};
  if (getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) {
    return model::fail(model::from_errno("no randomness for a token", errno));
  }
  static constexpr const char* kHex = "0123456789abcdef";
  std::string token;
  for (const unsigned char byte : bytes) {
    token += kHex[byte >> 4U];
    token += kHex[byte & 15U];
  }
  return token + "\n";
}

/// Creates; never overwrites, never follows a link.
model::Result<void> write_new(const std::string& path, const std::string& text, mode_t mode) {
  const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
  if (fd < 0 && errno == EEXIST) {
    return model::fail(model::ErrorCode::in_use, path + ": exists already; it was left alone");
  }
  if (fd < 0) return model::fail(model::from_errno(path + ": cannot be written", errno));
  std::size_t written = 0;
  int failed = 0;
  while (written < text.size() && failed == 0) {
    const ssize_t n = write(fd, text.data() + written, text.size() - written);
    if (n >= 0) written += static_cast<std::size_t>(n);
    if (n < 0 && errno != EINTR) failed = errno;
  }
  if (close(fd) != 0 && failed == 0) failed = errno;
  if (failed == 0) return {};
  unlink(path.c_str());
  return model::fail(model::from_errno(path + ": cannot be written", failed));
}

/// The configuration's text, or what is wrong with the peers.
model::Result<std::string> config_text(const std::vector<std::string>& peers) {
  std::string entries;
  std::vector<config::Member> members;
  for (const std::string& peer : peers) {
    const auto member = config::parse_member(peer);
    if (!member) return model::fail(model::wrap(member.error(), "--peers"));
    members.push_back(*member);
    entries += (entries.empty() ? "" : ", ") + config::yaml_scalar(peer);
  }
  if (members.size() < 2) {
    return model::fail(model::ErrorCode::invalid_argument, "--peers: needs at least two nodes");
  }
  const auto problems = config::check_members(members, members.front().name);
  if (!problems.empty()) {
    return model::fail(model::ErrorCode::invalid_argument, "--peers: " + problems.front().text);
  }
  return kHead + ("  static: [" + entries + "]\n");
}

model::Result<void> write_pair(const std::string& folder, const std::string& text) {
  const std::string token_path = folder + kTokenName;
  const std::string config_path = folder + kConfigName;
  if (access(config_path.c_str(), F_OK) == 0) {
    return model::fail(model::ErrorCode::in_use,
                       config_path + ": exists already; it was left alone");
  }
  const auto token = fresh_token();
  if (!token) return model::fail(token.error());
  if (auto wrote = write_new(token_path, *token, 0600); !wrote) return wrote;
  auto wrote = write_new(config_path, text, 0644);
  if (!wrote) unlink(token_path.c_str());
  return wrote;
}

}  // namespace

int run_config_init(const InitOptions& options) {
  const auto fail = [](const std::string& text) {
    std::cerr << "collwatch: " << text << "\n";
    return kUsageError;
  };
  const auto text = config_text(options.peers);
  if (!text) return fail(text.error().text);
  std::error_code error;
  std::filesystem::create_directories(options.folder, error);
  if (error) return fail(options.folder + ": " + error.message());
  const std::string folder = options.folder + (options.folder.ends_with('/') ? "" : "/");
  if (const auto wrote = write_pair(folder, *text); !wrote) return fail(wrote.error().text);
  std::cout << "Wrote " << folder << kConfigName << " and " << folder << kTokenName
            << " (a fresh secret, mode 0600).\n"
            << "Copy both to every node, side by side, then on each:\n"
            << "  collwatch config check " << folder << kConfigName << "\n"
            << "  collwatchd --config " << folder << kConfigName << "\n";
  return 0;
}

}  // namespace collwatch::cli
