// SPDX-License-Identifier: Apache-2.0
//
// One supervised worker process: spawn, talk, kill, reap. The object is passive, the event loop is
// its only owner; how it ended is a sum type. Deadlines are the caller's (the agent knows what is
// due); the kill ladder SIGTERM -> grace -> SIGKILL -> grace -> unreaped is here.
//
//   starting --Hello--> running --exit--> ended
//      |                  |
//      +---- kill() ------+--> terminating --grace--> killing --grace--> unreaped --exit--> ended
//                                   \------exit---------/
#pragma once

#include <sys/types.h>

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "daemon/base/event_loop.h"
#include "probes/wire/message.h"

namespace collwatch::supervise {

/// How a worker ended. `step` of KilledByUs says which rung of the ladder it took.
struct Exited {
  int code = 0;
};
struct Signalled {
  int signal = 0;
  bool core = false;
};
struct KilledByUs {
  int signal = 0;
};
using ExitFact = std::variant<Exited, Signalled, KilledByUs>;
std::string describe(const ExitFact& fact);

struct WorkerOptions {
  std::string executable;              ///< absolute path
  std::vector<std::string> arguments;  ///< after argv[0]
  std::vector<std::string> keep_environment;  ///< names taken over; all others are dropped
  std::chrono::milliseconds grace{200};  ///< between the rungs of the kill ladder
  std::size_t output_tail_bytes = 8192;
};

enum class WorkerPhase { starting, running, terminating, killing, unreaped, ended };

class Worker {
 public:
  struct Handlers {
    std::function<void(const wire::FromWorker&)> message;
    /// A packet that is no message of ours (garbage, oversized): the caller decides, usually kill().
    std::function<void(const std::string& text)> protocol_error;
    /// Called once, after the process was reaped and its output drained.
    std::function<void(const ExitFact&)> ended;
    /// Called once if it could not be reaped within the ladder (a child stuck in a driver).
    std::function<void()> unreaped;
  };

  /// Spawns with fd 3 = channel, stdin /dev/null, stdout+stderr captured, own process group, parent
  /// death signal, all signals reset. A missing executable is ErrorCode::not_found.
  static model::Result<std::unique_ptr<Worker>> spawn(base::EventLoop& loop, WorkerOptions options,
                                                      Handlers handlers);
  virtual ~Worker() = default;  ///< kills the group with SIGKILL and reaps, if still alive

  virtual pid_t pid() const = 0;
  virtual WorkerPhase phase() const = 0;
  virtual bool send(const wire::ToWorker& message) = 0;  ///< false: full or gone
  virtual void kill(const std::string& why) = 0;         ///< starts the ladder; idempotent
  virtual const std::string& output_tail() const = 0;    ///< last bytes of stdout and stderr
};

}  // namespace collwatch::supervise
