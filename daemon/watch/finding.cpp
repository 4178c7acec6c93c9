// SPDX-License-Identifier: Apache-2.0
//
// From the engine's words to the channel's.
#include "daemon/watch/finding.h"

#include <algorithm>
#include <string_view>

namespace collwatch::watch {

bool is_worth_telling(const diagnose::Event& event) {
  using catalogue::Role;
  if (event.fingerprint == model::Fingerprint::none || event.pattern.empty()) return false;
  if (event.role == Role::benign || event.is_fallback) return false;
  // What a launcher says about a process that ended is no failure of its own, but it is the word on
  // that process.
  const bool is_exit =
      event.fingerprint == model::Fingerprint::worker_exit && event.role == Role::initiating;
  return event.is_strong || is_exit;
}

wire::Finding finding_of(const diagnose::Event& event) {
  wire::Finding finding;
  finding.fingerprint = event.fingerprint;
  finding.role = std::string(model::name(event.role));
  finding.rank = event.rank.value_or(-1);
  finding.host = event.who.host;
  finding.text = event.text;
  return finding;
}

std::string key_of(const wire::Finding& finding) {
  return std::string(model::name(finding.fingerprint)) + " " + std::to_string(finding.rank) + " " +
         finding.file;
}

std::string job_of_path(const std::string& path) {
  constexpr std::string_view kPrefix = "slurm-";
  const std::size_t slash = path.rfind('/');
  const std::string name = slash == std::string::npos ? path : path.substr(slash + 1);
  if (name.rfind(kPrefix, 0) != 0) return "";
  const std::size_t end =
      std::min(name.find_first_not_of("0123456789_", kPrefix.size()), name.size());
  const std::string number = name.substr(kPrefix.size(), end - kPrefix.size());
  const bool is_number = !number.empty() && number.front() != '_' && number.back() != '_';
  return is_number ? "slurm:" + number : "";
}

}  // namespace collwatch::watch
