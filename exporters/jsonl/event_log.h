// SPDX-License-Identifier: Apache-2.0
//
// The event log: each event as one line of JSON (docs/schema/event.json) in a rotating file. A
// thread of its own writes, so that a full, slow or dead disk never holds up the daemon: append()
// only queues, what cannot be written is dropped and counted, and the next event tries again.
// append() and lost() belong to the event loop's thread; nothing here throws.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <thread>

#include "exporters/snapshot.h"
#include "probes/model/result.h"

namespace collwatch::exporters {

class EventLog {
 public:
  static model::Result<std::unique_ptr<EventLog>> open(const std::string& path,
                                                       std::uint64_t max_bytes);
  /// Gives the disk a second for what is still queued, then lets it go.
  ~EventLog();
  EventLog(const EventLog&) = delete;
  EventLog& operator=(const EventLog&) = delete;

  void append(const Event& event);

  /// Events that did not reach the file since open().
  std::uint64_t lost() const;

 private:
  struct Shared;
  explicit EventLog(std::shared_ptr<Shared> shared);

  std::shared_ptr<Shared> shared_;  ///< outlives us where the disk hangs
  std::thread writer_;
};

}  // namespace collwatch::exporters
