// SPDX-License-Identifier: Apache-2.0
//
// "Did you mean ...?" for misspelt keys, values and members. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace collwatch::config {

/// The candidate closest to `given`, if close enough to be what was meant: a key given without its
/// sections ("edge.interval"), or at most a third of it (and at least two letters) different.
std::optional<std::string> nearest(const std::string& given,
                                   const std::vector<std::string>& candidates);

/// "; did you mean X?" or nothing.
std::string did_you_mean(const std::string& given, const std::vector<std::string>& candidates);

}  // namespace collwatch::config
