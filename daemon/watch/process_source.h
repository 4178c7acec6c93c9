// SPDX-License-Identifier: Apache-2.0
//
// The training processes of this host as a source: a look at /proc every interval, and the moment a
// rank ends. Tells all jobs after each look, and what is found wrong; a warning is not told. A look
// can block where /proc does (a process in state D): that is why it is made here and not in the
// daemon.
#pragma once

#include <optional>
#include <vector>

#include "daemon/processes/exit_story.h"
#include "daemon/processes/exits.h"
#include "daemon/processes/scan.h"
#include "daemon/watch/source.h"

namespace collwatch::watch {

class ProcessSource final : public Source {
 public:
  ProcessSource(processes::Surroundings here, base::Millis interval, Sink sink);

  base::Clock::duration look(base::TimePoint now) override;
  std::vector<int> descriptors() const override;
  void add_to(wire::Heartbeat& heartbeat) const override;

  /// The latest look; none before the first.
  const processes::ProcessReport* report() const { return previous_ ? &*previous_ : nullptr; }

 private:
  void scan(base::TimePoint now);
  void tell(const processes::Finding& finding);

  const processes::Surroundings here_;
  const base::Millis interval_;
  Sink sink_;
  processes::ExitWatch exits_;
  processes::ExitStory story_;
  std::optional<processes::ProcessReport> previous_;
  base::TimePoint due_{};
};

}  // namespace collwatch::watch
