// SPDX-License-Identifier: Apache-2.0
//
// The seam between the watcher's loop and what it watches: logs, the kernel, processes. The loop
// asks each source to look, as often as the source wants or when one of its descriptors is
// readable; what it finds goes to the sink at once. Everything runs on the loop's thread, and a
// look must end soon: the heartbeat waits for it.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "daemon/base/event_loop.h"
#include "probes/wire/watch_message.h"

namespace collwatch::watch {

/// Takes what a source has to tell, in order.
using Sink = std::function<void(const wire::FromWatcher&)>;

class Source {
 public:
  virtual ~Source() = default;

  /// Looks at what is due now. Returns after how long to look again at the latest.
  virtual base::Clock::duration look(base::TimePoint now) = 0;
  /// Readable when it is worth to look earlier; constant over the source's life.
  virtual std::vector<int> descriptors() const { return {}; }
  /// Adds this source's counters and troubles.
  virtual void add_to(wire::Heartbeat& heartbeat) const = 0;
};

}  // namespace collwatch::watch
