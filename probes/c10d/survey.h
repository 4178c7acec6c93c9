// SPDX-License-Identifier: Apache-2.0
//
// The order of things: which combinations are tried, each in its own pair of children, and told one
// by one. The library is a table of functions, so that this is tested without libtorch.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "probes/c10d/child_pair.h"
#include "probes/c10d/combination.h"
#include "probes/wire/c10d_message.h"

namespace collwatch::c10d_probe {

using std::chrono::milliseconds;

/// What is surveyed: torch_ops.h, or a stand-in of the tests.
struct Subject {
  std::function<std::string()> version;
  std::function<Ending(const std::string& device)> device;
  std::function<Ending(const Combination&, int rank, const std::string& store, milliseconds)>
      operation;
  std::function<Ending(int rank, const Between&, milliseconds)> tcp_store;
  std::function<Ending(int rank, const std::string& path, milliseconds)> file_store;
};

struct SurveyPlan {
  std::vector<std::string> devices = {"cpu", "meta"};
  std::string file_store;            ///< a path that jobs use; empty: only one of our own
  std::function<bool()> is_stopped;  ///< asked between two tries; may be empty
  milliseconds deadline{10000};      ///< of one try; the library's own is shorter
};

using Tell = std::function<void(const wire::FromC10d&)>;

/// Blocks until all is told. Must run in a process without threads.
void survey(const Subject& subject, const SurveyPlan& plan, const Tell& tell);

/// Puts a message where it belongs in the report.
void collect(const wire::FromC10d& message, wire::C10dReport& report);

}  // namespace collwatch::c10d_probe
