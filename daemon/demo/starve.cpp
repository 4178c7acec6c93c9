// SPDX-License-Identifier: Apache-2.0
//
// Control groups are folders and one-line files; version 2 and version 1 spell the quota
// differently.
#include "daemon/demo/starve.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <random>

#include "daemon/demo/fabric.h"

namespace collwatch::demo {
namespace {

using model::Result;
namespace fs = std::filesystem;

constexpr int kLongestPauseMs = 200;

/// Where cpu groups are made, and how a tenth of a core is written there: 10 ms of every 100.
struct Place {
  const char* folder;
  const char* quota_file;
  const char* quota;
  bool on_request;  ///< the parent must be asked to give its groups the controller
};
constexpr Place kPlaces[] = {
    {"/sys/fs/cgroup", "cpu.max", "10000 100000\n", true},
    {"/sys/fs/cgroup/cpu", "cpu.cfs_quota_us", "10000\n", false},
    {"/sys/fs/cgroup/cpu,cpuacct", "cpu.cfs_quota_us", "10000\n", false},
};

bool write_line(const std::string& path, const std::string& line) {
  // Not created: in a folder that is no control group the file must not appear.
  if (access(path.c_str(), W_OK) != 0) return false;
  std::ofstream file(path);
  file << line << std::flush;
  return file.good();
}

std::vector<std::string> read_lines(const std::string& path) {
  std::ifstream file(path);
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  return lines;
}

}  // namespace

Result<CpuGroup> CpuGroup::create(const std::string& name) {
  sweep_stale();
  for (const Place& place : kPlaces) {
    const std::string root = place.folder;
    if (place.on_request && !write_line(root + "/cgroup.subtree_control", "+cpu\n")) continue;
    const std::string folder = root + "/" + name;
    if (mkdir(folder.c_str(), 0755) != 0) continue;
    CpuGroup group(folder);
    if (!write_line(folder + "/" + place.quota_file, place.quota)) continue;
    if (auto hog = group.start_hog(); !hog) return model::fail(hog.error());
    return group;
  }
  return model::fail(model::ErrorCode::permission, "no control group can be made here");
}

Result<void> CpuGroup::start_hog() {
  const pid_t parent = getpid();
  hog_ = fork();
  if (hog_ < 0) return model::fail(model::from_errno("fork", errno));
  if (hog_ == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (volatile unsigned turn = 0; getppid() == parent;) turn = turn + 1;
    _exit(0);
  }
  return add(hog_);
}

CpuGroup::~CpuGroup() {
  if (folder_.empty()) return;
  if (hog_ > 0) {
    ::kill(hog_, SIGKILL);
    waitpid(hog_, nullptr, 0);
  }
  const std::string root = fs::path(folder_).parent_path();
  for (const std::string& process : read_lines(folder_ + "/cgroup.procs")) {
    write_line(root + "/cgroup.procs", process + "\n");
  }
  rmdir(folder_.c_str());
}

Result<void> CpuGroup::add(pid_t process) const {
  if (write_line(folder_ + "/cgroup.procs", std::to_string(process) + "\n")) return {};
  return model::fail(model::from_errno("write to " + folder_ + "/cgroup.procs", errno));
}

void CpuGroup::sweep_stale() {
  for (const Place& place : kPlaces) {
    std::error_code ignored;
    for (const auto& entry : fs::directory_iterator(place.folder, ignored)) {
      const int owner = owner_pid(entry.path().filename());
      const bool gone = owner > 0 && ::kill(owner, 0) != 0 && errno == ESRCH;
      if (gone) rmdir(entry.path().c_str());
    }
  }
}

Pauses::Pauses(std::vector<pid_t> processes)
    : processes_(std::move(processes)), thread_([this] { pause_at_random(); }) {}

Pauses::~Pauses() {
  enough_ = true;
  thread_.join();
}

void Pauses::pause_at_random() {
  std::minstd_rand dice(std::random_device{}());
  std::uniform_int_distribution<int> length(1, kLongestPauseMs);
  const auto wait = [&] { std::this_thread::sleep_for(std::chrono::milliseconds(length(dice))); };
  const auto send = [this](int number) {
    for (const pid_t process : processes_) ::kill(process, number);
  };
  while (!enough_) {
    send(SIGSTOP);
    wait();
    send(SIGCONT);
    wait();
  }
}

}  // namespace collwatch::demo
