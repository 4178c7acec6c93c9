// SPDX-License-Identifier: Apache-2.0
//
// Names of what is compared, and the comparison by majority.
#include "daemon/agent/node_versions.h"

#include <algorithm>
#include <array>
#include <set>
#include <string_view>

#include "daemon/agent/unlike_the_rest.h"

namespace collwatch::agent {
namespace {

constexpr std::size_t kMostJobs = 4;
constexpr std::size_t kLongestJob = 96;

bool starts(const std::string& text, std::string_view start) {
  return text.compare(0, start.size(), start) == 0;
}

/// Whether a job of that name on another node is the same job.
bool is_known_everywhere(const std::string& job) {
  static constexpr auto kLocal = std::to_array<std::string_view>(
      {"store:localhost", "store:127.", "store:::1", "store:[::1]", "unnamed"});
  return !job.empty() && std::none_of(kLocal.begin(), kLocal.end(),
                                      [&](std::string_view start) { return starts(job, start); });
}

bool is_here_alone(const wire::WatchedJob& job) {
  const auto here = static_cast<int>(job.ranks.size() + job.missing.size());
  return job.world_size <= 0 || job.world_size <= here;
}

}  // namespace

Versions versions_of(const wire::WatchedJobs& watched, const std::string& torch) {
  Versions versions;
  const auto add = [&](const std::string& what, const std::string& version) {
    if (!version.empty()) versions[what] = version;
  };
  add("NVIDIA driver", watched.driver);
  add("libtorch of the system", torch);
  std::size_t jobs = 0;
  for (const wire::WatchedJob& job : watched.jobs) {
    if (is_here_alone(job) || !is_known_everywhere(job.job) || ++jobs > kMostJobs) continue;
    const std::string of = " of job " + job.job.substr(0, kLongestJob) + " (" +
                           std::to_string(job.world_size) + " ranks)";
    add("torch" + of, job.torch);
    add("NCCL" + of, job.nccl);
    add("CUDA" + of, job.cuda);
  }
  return versions;
}

std::vector<OddVersion> odd_versions(const std::map<std::string, Versions>& members,
                                     const std::string& self) {
  std::set<std::string> names;
  for (const auto& [member, versions] : members) {
    for (const auto& [what, version] : versions) names.insert(what);
  }
  std::vector<OddVersion> odd;
  for (const std::string& what : names) {
    std::map<std::string, std::string> values;
    for (const auto& [member, versions] : members) {
      const auto found = versions.find(what);
      if (found != versions.end()) values[member] = found->second;
    }
    const std::string common = common_value(values, self);
    for (const std::string& member : unlike_the_rest(values, self)) {
      odd.push_back({member, what, values[member], common});
    }
  }
  return odd;
}

std::string sentence(const OddVersion& odd) {
  return odd.member + " has " + odd.what + " " + odd.version + ", the others have " + odd.common;
}

}  // namespace collwatch::agent
