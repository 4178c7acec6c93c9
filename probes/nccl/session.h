// SPDX-License-Identifier: Apache-2.0
//
// One probe, as the daemon asks for it: prepared, a few rungs of the ladder, the end. Every step is
// announced before it is entered and reported before anything is taken down; the first failure ends
// the process, for nothing that a failed communicator or a sick driver holds can be given back in
// any other way. The main thread reads requests and does the work, the guard ends it in time.
#pragma once

#include <mutex>
#include <optional>
#include <string>

#include "probes/nccl/communicator.h"
#include "probes/nccl/guard.h"
#include "probes/nccl/survey.h"
#include "probes/wire/channel.h"
#include "probes/wire/nccl_message.h"

namespace collwatch::nccl_probe {

class Session {
 public:
  explicit Session(const wire::Channel& channel);

  /// Until the daemon says stop, or is gone, or a step fails.
  ExitCode run();

 private:
  std::optional<ExitCode> handle(const std::string& packet);
  std::optional<ExitCode> on(const wire::NcclPrepare& request);
  std::optional<ExitCode> on(const wire::NcclRun& request);
  std::optional<ExitCode> on(const wire::NcclStop&) { return kExitStopped; }

  std::optional<ExitCode> prepared(Surveyed surveyed);
  std::optional<ExitCode> climb(const wire::NcclRun& request, Communicator::Plan plan);
  std::string why_unusable(const wire::NcclRun& request) const;

  void enter(model::Phase phase);
  void begin_step(model::Collective collective, std::uint32_t size_bytes);
  /// The report of the present step, as far as it is the same for every end of it.
  wire::NcclReport draft() const;
  std::optional<ExitCode> fail(const Failure& failure);
  void last_word();
  void send(const wire::FromNccl& message) const;

  const wire::Channel& channel_;
  std::optional<Surveyed> here_;
  mutable std::mutex mutex_;  ///< of the step, which the guard reads
  wire::NcclReport step_;
  Guard guard_;
};

}  // namespace collwatch::nccl_probe
