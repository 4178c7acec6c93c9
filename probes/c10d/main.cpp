// SPDX-License-Identifier: Apache-2.0
//
// collwatch-probe-c10d: what does this node's libtorch do with Gloo? Tries it all in disposable
// children and is gone. Started by hand it prints one JSON document, or a page of markdown; started
// by collwatchd (a channel on fd 3) it tells every result as a packet.
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "probes/c10d/child_pair.h"
#include "probes/c10d/combination.h"
#include "probes/c10d/survey.h"
#include "probes/c10d/table.h"
#include "probes/c10d/torch_ops.h"
#include "probes/wire/channel.h"
#include "probes/wire/message.h"

namespace {

using namespace collwatch;
using namespace collwatch::c10d_probe;

constexpr int kExitUsage = 2;
/// Behind rounds and jobs, but not so far that a busy node makes it late.
constexpr int kNice = 10;
constexpr const char* kUsage =
    "usage: collwatch-probe-c10d [--json | --markdown] [--devices cpu,meta,cuda] [--file-store "
    "PATH]\n"
    "  --json        one document on standard output (the default)\n"
    "  --markdown    the same as a page\n"
    "  --devices     where tensors lie (default: cpu,meta; cuda takes some 500 MB of the GPU)\n"
    "  --file-store  a path that jobs give to init_method=file://: is it usable, is it stale?\n";

/// SIGTERM ends it between two tries, so that the folder of its stores goes too.
volatile std::sig_atomic_t is_terminated = 0;

struct Arguments {
  bool is_markdown = false;
  SurveyPlan plan;
};

std::vector<std::string> split(const std::string& list) {
  std::vector<std::string> words;
  std::size_t from = 0;
  for (;;) {
    const std::size_t comma = list.find(',', from);
    words.push_back(list.substr(from, comma - from));
    if (comma == std::string::npos) return words;
    from = comma + 1;
  }
}

bool read_arguments(int argc, char** argv, Arguments& arguments) {
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    const char* value = i + 1 < argc ? argv[i + 1] : nullptr;
    if (word == "--json") {
      arguments.is_markdown = false;
    } else if (word == "--markdown") {
      arguments.is_markdown = true;
    } else if (word == "--devices" && value != nullptr) {
      arguments.plan.devices = split(value);
      ++i;
    } else if (word == "--file-store" && value != nullptr) {
      arguments.plan.file_store = value;
      ++i;
    } else {
      return false;
    }
  }
  for (const std::string& device : arguments.plan.devices) {
    if (device != "cpu" && device != "meta" && device != "cuda") return false;
  }
  return true;
}

bool has_channel() {
  int type = 0;
  socklen_t length = sizeof(type);
  return ::getsockopt(wire::kWorkerFd, SOL_SOCKET, SO_TYPE, &type, &length) == 0 &&
         type == SOCK_SEQPACKET;
}

/// Standard output for the document alone: libraries print there.
int take_standard_output() {
  const int ours = ::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 4);
  ::dup2(STDERR_FILENO, STDOUT_FILENO);
  return ours;
}

bool print(int fd, const std::string& text) {
  std::size_t done = 0;
  while (done < text.size()) {
    const ssize_t wrote = ::write(fd, text.data() + done, text.size() - done);
    if (wrote <= 0) return false;
    done += static_cast<std::size_t>(wrote);
  }
  return true;
}

const Subject& libtorch() {
  static const Subject subject{torch_version, try_device, try_operation, try_tcp_store,
                               try_file_store};
  return subject;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 2 && std::strcmp(argv[1], "--version") == 0) {
    std::printf("collwatch-probe-c10d %s, libtorch %s\n", COLLWATCH_VERSION,
                torch_version().c_str());
    return 0;
  }
  Arguments arguments;
  if (!read_arguments(argc, argv, arguments)) {
    std::fputs(kUsage, stderr);
    return kExitUsage;
  }
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGTERM, [](int) { is_terminated = 1; });
  arguments.plan.is_stopped = [] { return is_terminated != 0; };
  const rlimit no_core{0, 0};
  ::setrlimit(RLIMIT_CORE, &no_core);
  if (has_channel()) {
    ::fcntl(wire::kWorkerFd, F_SETFD, FD_CLOEXEC);
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    ::setpriority(PRIO_PROCESS, 0, kNice);
    const wire::Channel channel(wire::kWorkerFd);
    survey(libtorch(), arguments.plan, [&channel](const wire::FromC10d& message) {
      if (!channel.send(wire::encode(message))) std::exit(0);  // nobody listens any more
    });
    return 0;
  }
  const int output = take_standard_output();
  wire::C10dReport report;
  survey(libtorch(), arguments.plan,
         [&report](const wire::FromC10d& message) { collect(message, report); });
  if (is_terminated != 0) return 1;  // half a table is none
  const std::string text =
      arguments.is_markdown ? to_markdown(report) : wire::encode_document(report) + "\n";
  return print(output, text) ? 0 : 1;
}
