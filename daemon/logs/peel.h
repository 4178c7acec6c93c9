// SPDX-License-Identifier: Apache-2.0
//
// Prefixes: what launchers, loggers and log shippers put in front of a line, often several on top
// of each other. Peeling takes them off from the left, one after another, and keeps what they say
// about the writer. Used by the log engine on each line that it looks at; pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace collwatch::logs {

/// Who wrote a line, and when, as far as its prefixes say.
struct Who {
  std::optional<int> rank;        ///< global, said in so many words
  std::optional<int> group_rank;  ///< "[Rank 3]" of c10: counts within one process group
  std::optional<int> local_rank;
  std::optional<int> label;  ///< "3: text": a task number if the whole file is like that
  std::optional<int> world;  ///< "rank 0/3"
  std::optional<long> pid;
  std::string host;        ///< or address, or pod
  std::string time;        ///< as written, RFC 3339 where the date is whole
  char severity = 0;       ///< I W E F, 0 where no logger said
  bool is_kernel = false;  ///< "[ 1843.308145] "
  bool is_native = false;  ///< a header of c10 or glog
};

/// What is left of the line, and in `who` what was learned.
std::string_view peel(std::string_view line, Who& who);

}  // namespace collwatch::logs
