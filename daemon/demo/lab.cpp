// SPDX-License-Identifier: Apache-2.0
//
// Directories are named after the pid that made them, so that a later run can tell whose are left
// over; mkdtemp's random tail keeps others from preparing the name.
#include "daemon/demo/lab.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace collwatch::demo {
namespace {

using model::ErrorCode;
using model::Result;
namespace fs = std::filesystem;

/// What an agent gets to say goodbye at the demo's end, all agents together.
constexpr std::chrono::milliseconds kFarewell{1500};

std::string temp_root() {
  std::error_code ignored;
  const fs::path root = fs::temp_directory_path(ignored);
  return root.empty() ? "/tmp" : root.string();
}

/// Removes directories of ours whose maker is gone. Only this user's, and never through a link.
void sweep_stale_directories() {
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(temp_root(), ignored)) {
    const int owner = owner_pid(entry.path().filename());
    struct stat info {};
    if (owner < 0 || lstat(entry.path().c_str(), &info) != 0) continue;
    if (!S_ISDIR(info.st_mode) || info.st_uid != geteuid()) continue;
    const bool gone = kill(owner, 0) != 0 && errno == ESRCH;
    if (gone || owner == getpid()) fs::remove_all(entry.path(), ignored);
  }
}

Result<void> write_token(const std::string& path) {
  std::array<unsigned char, 16> random{};
  if (getrandom(random.data(), random.size(), 0) != static_cast<ssize_t>(random.size())) {
    return model::fail(model::from_errno("getrandom", errno));
  }
  std::string hex;
  for (const unsigned char byte : random) {
    hex += "0123456789abcdef"[byte >> 4];
    hex += "0123456789abcdef"[byte & 15];
  }
  // The directory is 0700 (mkdtemp); the file must not be looser, agents check that.
  std::ofstream file(path);
  file << hex << "\n";
  file.close();
  if (!file || chmod(path.c_str(), 0600) != 0) {
    return model::fail(ErrorCode::io, "cannot write " + path);
  }
  return {};
}

}  // namespace

Result<std::unique_ptr<Lab>> Lab::create(const LabOptions& options) {
  std::unique_ptr<Lab> lab(new Lab(options));
  const std::string daemon = options.bin_dir + "/collwatchd";
  if (access(daemon.c_str(), X_OK) != 0) {
    return model::fail(ErrorCode::not_found, "there is no collwatchd in " + options.bin_dir);
  }
  sweep_stale_directories();
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  if (auto made = lab->make_directory(); !made) return model::fail(made.error());
  if (options.loopback) {
    lab->loopback_because_ = "--loopback was given";
  } else if (auto fabric = Fabric::create(lab->options_.room, options.network)) {
    lab->fabric_ = *std::move(fabric);
  } else {
    lab->loopback_because_ = "no network namespaces: " + fabric.error().text;
  }
  if (auto made = lab->make_agents(); !made) return model::fail(made.error());
  if (auto made = lab->set_nodes(options.nodes); !made) return model::fail(made.error());
  return lab;
}

Lab::Lab(LabOptions options) : options_(std::move(options)) {
  options_.room = std::max(options_.room, options_.nodes);
}

Lab::~Lab() {
  // All at once: the farewell is shared, and nobody sees the others leave one by one.
  for (auto& agent : agents_) agent->ask_to_stop();
  const auto until = std::chrono::steady_clock::now() + kFarewell;
  for (auto& agent : agents_) {
    const auto left = until - std::chrono::steady_clock::now();
    agent->stop(std::max(std::chrono::milliseconds(0),
                         std::chrono::duration_cast<std::chrono::milliseconds>(left)));
  }
  agents_.clear();
  fabric_.reset();
  std::error_code ignored;
  if (!directory_.empty() && !keep_) fs::remove_all(directory_, ignored);
}

Result<void> Lab::make_directory() {
  std::string path = temp_root() + "/" + kNamespacePrefix + std::to_string(getpid()) + "-XXXXXX";
  if (mkdtemp(path.data()) == nullptr)
    return model::fail(model::from_errno("mkdtemp " + path, errno));
  directory_ = path;
  return write_token(directory_ + "/token");
}

AgentPlace Lab::place(int node) const {
  AgentPlace place;
  place.name = "n" + std::to_string(node);
  place.directory = directory_ + "/" + place.name;
  place.member_file = directory_ + "/peers.yaml";
  place.token_file = directory_ + "/token";
  if (fabric_) {
    place.netns = fabric_->netns(node);
    place.peer_address = fabric_->address(node);
    if (options_.status_on_fabric) place.status_host = any_address(place.peer_address);
    return place;
  }
  place.peer_address = "127.0.0.1";
  place.status_port = static_cast<std::uint16_t>(options_.base_port + 2 * node);
  place.peer_port = static_cast<std::uint16_t>(place.status_port + 1);
  return place;
}

Result<void> Lab::make_agents() {
  for (int node = 0; node < options_.room; ++node) {
    agents_.push_back(std::make_unique<Agent>(place(node)));
    agents_.back()->setup().bin_dir = options_.bin_dir;
    const std::string& directory = agents_.back()->place().directory;
    if (mkdir(directory.c_str(), 0700) != 0) {
      return model::fail(model::from_errno("mkdir " + directory, errno));
    }
  }
  return {};
}

Result<void> Lab::set_nodes(int nodes) {
  const std::string path = agents_.front()->place().member_file;
  std::ofstream file(path + ".new");
  file << "members:\n";
  for (int node = 0; node < nodes; ++node) {
    const AgentPlace& at = agents_[node]->place();
    file << "  - {name: " << at.name << ", address: \"" << endpoint(at.peer_address, at.peer_port)
         << "\"}\n";
  }
  file.close();
  // In one step: no agent reads half a list.
  if (!file || rename((path + ".new").c_str(), path.c_str()) != 0) {
    return model::fail(ErrorCode::io, "cannot write " + path);
  }
  nodes_ = nodes;
  return {};
}

std::string Lab::keep_logs() {
  if (keep_) return directory_;
  keep_ = true;
  // A name that the sweep does not know, or the next run would take them away.
  const std::string kept =
      temp_root() + "/collwatch-logs-" + fs::path(directory_).filename().string();
  std::error_code failed;
  fs::rename(directory_, kept, failed);
  if (!failed) directory_ = kept;
  return directory_;
}

}  // namespace collwatch::demo
