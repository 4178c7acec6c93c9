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
#include <vector>

#include "daemon/base/event_loop.h"
#include "daemon/supervise/exit_fact.h"
#include "probes/wire/message.h"

namespace collwatch::supervise {

struct WorkerOptions {
  std::string executable;                     ///< absolute path
  std::vector<std::string> arguments;         ///< after argv[0]
  std::vector<std::string> keep_environment;  ///< names taken over; all others are dropped
  std::chrono::milliseconds grace{200};       ///< between the rungs of the kill ladder
  std::size_t output_tail_bytes = 8192;
};

enum class WorkerPhase { starting, running, terminating, killing, unreaped, ended };

class Worker {
 public:
  /// Called by the loop only, never from inside spawn, send, kill or the destructor. Any of them
  /// may call send() and kill(), and may destroy the Worker; nothing is called after that. An empty
  /// function means "not interested".
  struct Handlers {
    /// At most 64 packets a turn of the loop, so that a flooding worker starves nobody.
    std::function<void(const wire::FromWorker&)> message;
    /// Instead of `message`: packets as they came, for a child that speaks another language.
    /// Nothing is decoded then; it counts as running from its first packet on.
    std::function<void(const std::string& packet)> packet;
    /// A packet that is no message of ours (garbage, oversized), a Hello of another protocol
    /// version, or a channel that was closed while the process lives on (told after `grace`): the
    /// caller decides, usually kill().
    std::function<void(const std::string& text)> protocol_error;
    /// Called once, after the process was reaped, its remaining packets delivered and its output
    /// drained. What was left of its process group has been killed.
    std::function<void(const ExitFact&)> ended;
    /// Called once if it could not be reaped within the ladder (a child stuck in a driver).
    std::function<void()> unreaped;
  };

  /// Spawns with fd 3 = channel, stdin /dev/null, stdout+stderr captured, own process group, parent
  /// death signal, all signals reset. A missing executable is ErrorCode::not_found.
  static model::Result<std::unique_ptr<Worker>> spawn(base::EventLoop& loop, WorkerOptions options,
                                                      Handlers handlers);
  /// If still alive: kills the group with SIGKILL and reaps, waiting at most 200 ms; a child that
  /// outlives that is reaped by the loop when it dies. To be sure not to wait: kill(), then destroy
  /// in `ended`. The loop must outlive the Worker.
  virtual ~Worker() = default;

  virtual pid_t pid() const = 0;
  virtual WorkerPhase phase() const = 0;
  virtual bool send(const wire::ToWorker& message) = 0;     ///< false: full or gone
  virtual bool send_packet(const std::string& packet) = 0;  ///< likewise
  /// Starts the ladder; the first reason counts. Does nothing to one that has died by itself
  /// already (its own end is the better evidence, and `ended` is on its way).
  virtual void kill(const std::string& why) = 0;
  virtual const std::string& kill_reason() const = 0;  ///< empty: never asked to
  virtual const std::string& output_tail() const = 0;  ///< last bytes of stdout and stderr
};

}  // namespace collwatch::supervise
