// SPDX-License-Identifier: Apache-2.0
//
// Asks ranks for a dump of their Flight Recorder and waits for it. The only thing here that a
// training process can notice: one byte into the FIFO that it opened for this. Only on an explicit
// command (`collwatch inspect --dump`), never on our own account.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "daemon/processes/report.h"

namespace collwatch::processes {

/// One rank that was asked, or why it was not.
struct DumpAnswer {
  int pid = 0;
  std::string job;
  std::optional<int> rank;
  std::string problem;        ///< why there is no dump, or not yet
  std::optional<Place> dump;  ///< a new one, written to its end
  std::uint64_t bytes = 0;    ///< of it
  bool is_asked = false;
};

class DumpRequest {
 public:
  /// Notes what lies at the ranks' places now; asks nobody yet.
  explicit DumpRequest(const std::vector<Process>& processes);

  /// Puts the byte into every usable pipe, once.
  void ask();

  /// Looks for new files; true when nobody who was asked is left to wait for.
  bool look(TimePoint now);

  const std::vector<DumpAnswer>& answers() const { return answers_; }

 private:
  /// A file at one moment; empty: none there.
  struct Seen {
    std::string identity;
    std::uint64_t bytes = 0;
    TimePoint since{};  ///< it has looked like this
  };
  struct Waiting {
    FlightFiles flight;
    std::vector<Seen> before, latest;  ///< of flight.dump_places
  };
  void look_at(DumpAnswer& answer, Waiting& waiting, TimePoint now);

  std::vector<DumpAnswer> answers_;
  std::vector<Waiting> waiting_;  ///< one for each answer
};

}  // namespace collwatch::processes
