// SPDX-License-Identifier: Apache-2.0
//
// A real collwatch-probe-nccl on a fake node: a private folder with links to the stand-in libraries
// and a script for each (tests/support/standin). The test plays the daemon.
#pragma once

#include <chrono>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "daemon/supervise/process.h"
#include "probes/wire/channel.h"
#include "probes/wire/nccl_message.h"

namespace collwatch::tests {

using namespace std::chrono_literals;

/// The libraries that one node's probe finds.
class FakeNode {
 public:
  /// `standins`: which folder of them, "standin" or "standin-old".
  explicit FakeNode(const std::string& standins = "standin");
  ~FakeNode();
  FakeNode(const FakeNode&) = delete;
  FakeNode& operator=(const FakeNode&) = delete;

  const std::string& folder() const { return folder_; }
  std::string nccl() const { return folder_ + "/libnccl.so.2"; }
  /// `lines` for libnccl, libcuda and NVML; whoever starts afterwards reads them.
  void nccl_script(const std::string& lines) const;
  void cuda_script(const std::string& lines) const;
  void nvml_script(const std::string& lines) const;
  /// Takes a library away.
  void remove(const std::string& name) const;

 private:
  std::string folder_;
};

class Probe {
 public:
  explicit Probe(const FakeNode& node);
  ~Probe();
  Probe(const Probe&) = delete;
  Probe& operator=(const Probe&) = delete;

  void send(const wire::ToNccl& message) const;
  /// The next message; nothing when it has ended or the time is over.
  std::optional<wire::FromNccl> next(std::chrono::milliseconds within = 20s);
  /// The next message of that kind; what comes before it is kept in `passed`.
  template <typename M>
  std::optional<M> wait_for(std::chrono::milliseconds within = 20s) {
    while (auto message = next(within)) {
      if (auto* wanted = std::get_if<M>(&*message)) return std::move(*wanted);
      passed.push_back(std::move(*message));
    }
    return std::nullopt;
  }
  std::vector<wire::FromNccl> passed;

  /// All reports of the rung, up to its NcclDone, a failure, or the end.
  std::vector<wire::NcclReport> reports();
  std::string last_phase() const;

  std::optional<supervise::ExitFact> end(std::chrono::milliseconds within = 20s);
  void kill() const { process_->signal_group(9); }
  pid_t pid() const { return process_->pid(); }

 private:
  std::optional<wire::Channel> channel_;
  std::optional<supervise::Process> process_;
};

wire::NcclPrepare prepare_with(const FakeNode& node);
wire::NcclRun local_run(int ranks);

}  // namespace collwatch::tests
