// SPDX-License-Identifier: Apache-2.0
//
// collwatch-probe-store: one look at a folder that members of a ring are to share, told on fd 3.
// collwatchd starts it; by hand it prints what it would tell.
#include <sys/prctl.h>
#include <sys/socket.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "probes/store/shared_folder.h"
#include "probes/wire/channel.h"
#include "probes/wire/message.h"

using namespace collwatch;

namespace {

constexpr int kExitUsage = 2;
constexpr const char* kUsage =
    "usage: collwatch-probe-store FOLDER NAME OTHERS\n"
    "Writes FOLDER/.collwatch-NAME and reads those of OTHERS, a list with commas.\n";

std::vector<std::string> split(const std::string& list) {
  std::vector<std::string> items;
  for (std::size_t from = 0; from < list.size();) {
    const std::size_t comma = std::min(list.find(',', from), list.size());
    if (comma > from) items.push_back(list.substr(from, comma - from));
    from = comma + 1;
  }
  return items;
}

bool has_channel() {
  int type = 0;
  socklen_t length = sizeof(type);
  return ::getsockopt(wire::kWorkerFd, SOL_SOCKET, SO_TYPE, &type, &length) == 0 &&
         type == SOCK_SEQPACKET;
}

/// To the daemon, or to whoever started it by hand. False: nobody listens any more.
bool tell(const wire::Channel* daemon, const wire::FromStore& message) {
  const std::string packet = wire::encode(message);
  if (daemon != nullptr) return daemon->send(packet).has_value();
  return std::puts(packet.c_str()) >= 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 2 && std::strcmp(argv[1], "--version") == 0) {
    std::puts("collwatch-probe-store " COLLWATCH_VERSION);
    return 0;
  }
  if (argc != 4 || *argv[1] == '\0' || *argv[2] == '\0' || std::strchr(argv[2], '/') != nullptr) {
    std::fputs(kUsage, stderr);
    return kExitUsage;
  }
  std::signal(SIGPIPE, SIG_IGN);
  const auto began = std::chrono::steady_clock::now();
  std::optional<wire::Channel> daemon;
  if (has_channel()) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    daemon.emplace(wire::kWorkerFd);
  }
  const wire::Channel* const to = daemon ? &*daemon : nullptr;
  auto look = store_probe::look_at(argv[1], argv[2], split(argv[3]));
  bool is_heard = tell(to, look.folder);
  for (wire::StoreMember& member : look.members) is_heard = is_heard && tell(to, std::move(member));
  wire::StoreDone done;
  done.duration_us = std::chrono::duration_cast<std::chrono::microseconds>(
                         std::chrono::steady_clock::now() - began)
                         .count();
  return is_heard && tell(to, done) ? 0 : 1;
}
