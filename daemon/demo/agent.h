// SPDX-License-Identifier: Apache-2.0
//
// One real collwatchd as a child process: its config, its start in a namespace, its worker, and the
// signals that faults send to both. Owned by Lab. Starts only on the thread that lives as long as
// the demo (main): the kernel ties the parent-death signal to the thread that forked.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "probes/model/result.h"

namespace collwatch::demo {

/// Where a node is and where its files lie.
struct AgentPlace {
  std::string name;          ///< n2
  std::string netns;         ///< empty: the host's own network
  std::string peer_address;  ///< numeric, as the members list it
  std::uint16_t peer_port = 9782;
  std::string status_host = "127.0.0.1";
  std::uint16_t status_port = 9781;
  std::string directory;    ///< config.yaml, events.jsonl, collwatchd.log
  std::string member_file;  ///< the same for all
  std::string token_file;
};

/// How an agent is started: what faults change about it. In force from the next start on.
struct Setup {
  std::string bin_dir;                   ///< collwatchd and its worker lie there
  std::string network_address = "auto";  ///< the configuration's network.address
  std::vector<std::string> environment;  ///< NAME=value, beside what the demo itself has
};

class Agent {
 public:
  explicit Agent(AgentPlace place) : place_(std::move(place)) {}
  ~Agent();
  Agent(const Agent&) = delete;
  Agent& operator=(const Agent&) = delete;

  Setup& setup() { return setup_; }
  /// Writes config.yaml and starts the daemon.
  model::Result<void> start();

  void ask_to_stop();  ///< SIGTERM, once; does not wait
  /// SIGTERM, and SIGKILL to daemon and worker when that took longer than `patience`.
  void stop(std::chrono::milliseconds patience);
  void kill();  ///< SIGKILL to daemon and worker, and reap
  /// Sends a signal to the daemon, or an Error when it is not running.
  model::Result<void> signal(int number);

  bool running();  ///< reaps it if it ended
  pid_t pid() const { return pid_; }
  /// The Gloo worker of this daemon; nothing while it has none.
  std::optional<pid_t> worker() const;
  /// Every process under this daemon, the daemon itself left out.
  std::vector<pid_t> children() const;

  const AgentPlace& place() const { return place_; }
  std::string status_url() const;
  /// How it ended if it did so unasked, with the last line of its log; empty otherwise.
  std::string unexpected_end();

 private:
  model::Result<void> configure() const;
  std::string last_log_line() const;

  AgentPlace place_;
  Setup setup_;
  pid_t pid_ = -1;
  bool asked_to_end_ = false;
  std::string ended_;
  std::vector<pid_t> workers_;  ///< of a daemon that was asked to end, to be reaped after it
};

}  // namespace collwatch::demo
