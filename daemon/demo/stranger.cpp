// SPDX-License-Identifier: Apache-2.0
//
// Plain sockets with short deadlines. Connections that say nothing are kept open for a while: a
// listener that waits for them one by one would be found out.
#include "daemon/demo/stranger.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdio>
#include <deque>
#include <fstream>
#include <set>
#include <sstream>

namespace collwatch::demo {
namespace {

constexpr std::size_t kOpenConnections = 32;
constexpr std::chrono::milliseconds kPause{200};

/// The inodes of the sockets that `pid` holds open.
std::set<std::string> socket_inodes(pid_t pid) {
  std::set<std::string> inodes;
  const std::string folder = "/proc/" + std::to_string(pid) + "/fd";
  DIR* dir = opendir(folder.c_str());
  while (const dirent* entry = dir == nullptr ? nullptr : readdir(dir)) {
    std::array<char, 64> target{};
    const std::string path = folder + "/" + entry->d_name;
    const ssize_t n = readlink(path.c_str(), target.data(), target.size() - 1);
    const std::string text(target.data(), n > 0 ? static_cast<std::size_t>(n) : 0);
    if (text.rfind("socket:[", 0) == 0) inodes.insert(text.substr(8, text.size() - 9));
  }
  if (dir != nullptr) closedir(dir);
  return inodes;
}

void read_listeners(const std::string& path, const std::set<std::string>& inodes,
                    std::vector<std::uint16_t>& ports) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);  // the header
  while (std::getline(file, line)) {
    std::istringstream words(line);
    std::string slot, local, remote, state, queues, timer, retransmits, uid, timeout, inode;
    words >> slot >> local >> remote >> state >> queues >> timer >> retransmits >> uid >> timeout >>
        inode;
    if (state != "0A" || !inodes.contains(inode)) continue;  // 0A: TCP_LISTEN
    unsigned port = 0;
    std::sscanf(local.c_str() + local.find(':') + 1, "%x", &port);
    ports.push_back(static_cast<std::uint16_t>(port));
  }
}

/// Moves the calling thread into the namespace. False: it stays where it is.
bool enter(const std::string& netns) {
  if (netns.empty()) return true;
  const int fd = open(("/run/netns/" + netns).c_str(), O_RDONLY | O_CLOEXEC);
  const bool inside = fd >= 0 && setns(fd, CLONE_NEWNET) == 0;
  if (fd >= 0) close(fd);
  return inside;
}

struct Target {
  sockaddr_storage address{};
  socklen_t size = 0;

  int family() const { return address.ss_family; }
  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&address); }
};

Target target_at(const std::string& host, std::uint16_t port) {
  Target target;
  if (host.find(':') == std::string::npos) {
    auto& v4 = reinterpret_cast<sockaddr_in&>(target.address);
    v4.sin_family = AF_INET;
    v4.sin_port = htons(port);
    inet_pton(AF_INET, host.c_str(), &v4.sin_addr);
    target.size = sizeof v4;
  } else {
    auto& v6 = reinterpret_cast<sockaddr_in6&>(target.address);
    v6.sin6_family = AF_INET6;
    v6.sin6_port = htons(port);
    inet_pton(AF_INET6, host.c_str(), &v6.sin6_addr);
    target.size = sizeof v6;
  }
  return target;
}

/// A connected socket, or -1 after 200 ms.
int connect_to(const Target& target) {
  const int fd = socket(target.family(), SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return -1;
  connect(fd, target.get(), target.size);
  pollfd ready = {fd, POLLOUT, 0};
  int error = 0;
  socklen_t size = sizeof error;
  if (poll(&ready, 1, 200) == 1 && getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) == 0 &&
      error == 0) {
    return fd;
  }
  close(fd);
  return -1;
}

void send_garbage_datagram(const Target& target) {
  const int fd = socket(target.family(), SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return;
  const std::string garbage(300, '\x7f');
  sendto(fd, garbage.data(), garbage.size(), MSG_DONTWAIT, target.get(), target.size);
  close(fd);
}

}  // namespace

std::vector<std::uint16_t> listening_ports(pid_t pid) {
  std::vector<std::uint16_t> ports;
  const auto inodes = socket_inodes(pid);
  for (const char* table : {"/net/tcp", "/net/tcp6"}) {
    read_listeners("/proc/" + std::to_string(pid) + table, inodes, ports);
  }
  return ports;
}

Stranger::Stranger(std::vector<Door> doors) : doors_(std::move(doors)) {
  thread_ = std::thread([this] { roam(); });
}

Stranger::~Stranger() {
  leave_ = true;
  thread_.join();
}

void Stranger::roam() {
  if (!doors_.empty() && !enter(doors_.front().netns)) return;
  std::deque<int> silent;
  for (int turn = 0; !leave_; ++turn) {
    for (const Door& door : doors_) {
      for (const std::uint16_t port : door.ports) {
        const Target target = target_at(door.address, port);
        send_garbage_datagram(target);
        const int fd = connect_to(target);
        if (fd < 0) continue;
        ++knocks_;
        const std::string garbage(turn % 3 == 1 ? 4096 : 3, static_cast<char>(turn));
        if (turn % 3 != 0)
          (void)send(fd, garbage.data(), garbage.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
        if (turn % 3 == 2) close(fd);
        if (turn % 3 != 2) silent.push_back(fd);
      }
    }
    while (silent.size() > kOpenConnections) {
      close(silent.front());
      silent.pop_front();
    }
    std::this_thread::sleep_for(kPause);
  }
  for (const int fd : silent) close(fd);
}

}  // namespace collwatch::demo
