// SPDX-License-Identifier: Apache-2.0
//
// The lines whose structure the engine itself relies on, whatever the catalogue says about their
// meaning: they name ranks, directions, counts, sequence numbers, exits. The catalogue says what a
// line means, the grammar what is written in it. Field names are explained in docs/diagnose.md.
#pragma once

#include <string_view>
#include <vector>

namespace collwatch::diagnose {

/// What the collector does with a line beyond taking its fields.
enum class Mark {
  fields,       ///< only adds fields to the line's event
  beside,       ///< the same, and only to lines that something else brought here
  traceback,    ///< a Python traceback begins
  frame,        ///< a line of a traceback whose beginning was cut off
  chained,      ///< "During handling of the above exception ..."
  spawned,      ///< "-- Process 1 terminated with the following error:"
  abort,        ///< "terminate called ..."
  report_host,  ///< elastic's table: host
  report_rank,  ///< elastic's table: rank and local rank
  report_exit,  ///< elastic's table: exit code and pid
  exited,       ///< any other line that says how a process ended
  restart,      ///< the worker group starts again
  list,         ///< "Missing ranks:", of the event before it; they follow line by line
  terminated,   ///< a launcher ends a process
  world         ///< mentions the world size
};

struct Rule {
  std::string_view id;
  Mark mark;
  std::string_view expression;
};

const std::vector<Rule>& grammar();

}  // namespace collwatch::diagnose
