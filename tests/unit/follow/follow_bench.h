// SPDX-License-Identifier: Apache-2.0
//
// A follower over a folder of its own, in a time that the test sets, and all that it told.
#pragma once

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "daemon/follow/follower.h"
#include "tests/support/catch.h"

namespace collwatch::test {

namespace fs = std::filesystem;

class FollowBench {
 public:
  FollowBench() {
    char name[] = "/tmp/collwatch-follow-XXXXXX";
    REQUIRE(mkdtemp(name) != nullptr);
    folder = name;
    restart();
  }
  ~FollowBench() { fs::remove_all(folder); }
  FollowBench(const FollowBench&) = delete;
  FollowBench& operator=(const FollowBench&) = delete;

  std::string path(const std::string& name) const { return folder + "/" + name; }
  void append(const std::string& name, const std::string& text) const {
    std::ofstream(path(name), std::ios::app) << text;
  }
  void rename(const std::string& from, const std::string& to) const {
    fs::rename(path(from), path(to));
  }

  /// Another process of the follower: it knows nothing but what it is told.
  void restart(bool with_positions = true) {
    follow::Follower::Surroundings around;
    around.host = "node-a";
    around.is_shared = [this](const std::string&) { return is_shared; };
    around.open_here = [this] { return open_here; };
    around.places = places;
    follow::Follower::Handlers handlers;
    handlers.text = [this](const follow::FollowedText& lines) {
      auto& into = lines.is_context ? context : read;
      into += lines.text;
      if (!lines.is_context) first_lines.push_back(lines.first_line);
      last_path = lines.path;
    };
    handlers.broken_off = [this](follow::FileIdentity) { ++broken; };
    handlers.moved = [this](const wire::FilePosition& position) {
      positions[{position.device, position.inode}] = position;
    };
    handlers.forgotten = [this](follow::FileIdentity file) {
      positions.erase(file);
      ++forgotten;
    };
    follower = std::make_unique<follow::Follower>(around, handlers);
    if (with_positions) {
      for (const auto& [file, position] : positions) follower->remember(position);
    }
  }
  void watch(const std::string& pattern, std::uint64_t per_second = 1000000,
             bool shared_files = true) {
    plan.shared_files = shared_files;
    follower->set_globs({{pattern, per_second, since_ms}}, plan);
  }

  /// Lets so much time pass, looks, and reads all that may be read then.
  void look(base::Millis later = base::Millis(3000)) {
    now += later;
    follower->scan_soon();
    follower->scan(now);
    while (follower->poll(now)) continue;
  }
  std::string take() { return std::exchange(read, {}); }

  std::string folder;
  bool is_shared = false;
  std::set<std::string> open_here;
  /// Far from now, so that files made by the test are older than the watch.
  std::int64_t since_ms = std::int64_t{1} << 52;
  follow::Follower::Plan plan;
  std::size_t places = wire::kMostFollowedFiles;  ///< at the next restart()
  base::TimePoint now{std::chrono::hours(1)};
  std::unique_ptr<follow::Follower> follower;
  std::string read;
  std::string context;
  std::string last_path;
  std::vector<std::int64_t> first_lines;
  std::map<follow::FileIdentity, wire::FilePosition> positions;
  int broken = 0;
  int forgotten = 0;
};

}  // namespace collwatch::test
