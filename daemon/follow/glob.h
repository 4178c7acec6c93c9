// SPDX-License-Identifier: Apache-2.0
//
// The pattern of a watch.logs entry and the files that it means now. Shell wildcards (* ? [...])
// and {a,b}; %h is this host's name, %% a percent sign. Used by the follower.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <vector>

namespace collwatch::follow {

/// `pattern` with %h replaced by `host`.
std::string with_host(const std::string& pattern, const std::string& host);

bool names_host(const std::string& pattern);

/// The folder up to which the pattern has no wildcard: "/var/log" for "/var/log/*/a.log".
std::string fixed_folder(const std::string& pattern);

struct Matches {
  std::vector<std::string> paths;  ///< sorted
  bool is_cut = false;             ///< too much to look through: there may be more
};

/// One look goes no further than this many names and this much time, wherever a pattern leads.
inline constexpr std::size_t kMostLooks = 20000;
inline constexpr std::chrono::milliseconds kLongestLook{1000};

/// What matches now, at most `most`. The number of {a,b} is bounded by the configuration.
Matches matching(const std::string& pattern, std::size_t most);

}  // namespace collwatch::follow
