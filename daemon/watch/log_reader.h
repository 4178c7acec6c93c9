// SPDX-License-Identifier: Apache-2.0
//
// One followed log: its lines through the log engine's front half (prefixes, tracebacks, patterns),
// findings out. No I/O; fed by the log source.
#pragma once

#include <string>
#include <vector>

#include "daemon/diagnose/collector.h"
#include "daemon/follow/follower.h"
#include "probes/wire/watch_message.h"

namespace collwatch::watch {

class LogReader {
 public:
  LogReader(const diagnose::Patterns& patterns, std::string path);

  /// What the lines mean; nothing for context, which only shows who is writing.
  std::vector<wire::Finding> read(const follow::FollowedText& lines);

 private:
  std::string path_;
  diagnose::Collector collector_;
};

}  // namespace collwatch::watch
