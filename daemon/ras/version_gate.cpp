// SPDX-License-Identifier: Apache-2.0
//
// The table of versions, and who asks.
#include "daemon/ras/version_gate.h"

#include <algorithm>

#include "daemon/ras/report.h"

namespace collwatch::ras {
namespace {

constexpr Version kFirst{2, 24, 0};
constexpr Version kFirstJson{2, 28, 7};
constexpr Version kSound{2, 29, 2};

/// Why this job cannot be reached, if so. Listeners that share a port are one user's (the kernel
/// sees to that), so where a rank holds it no stranger can answer in its place.
std::string unreachable(Mode mode, const Candidate& one) {
  if (!one.own_network) return one.job + ": it has a network of its own (a container)";
  if (mode == Mode::always || one.listens) return "";
  return one.job +
         ": none of its processes holds the port (NCCL opens it with its first "
         "communicator; another user's job may have it)";
}

/// Why asking could hurt this job.
std::string unsafe(const Candidate& one, const std::optional<Version>& version) {
  if (!version) return one.job + ": which NCCL it has is not known";
  const Ability ability = ability_of(*version);
  if (ability == Ability::none || ability == Ability::json) return "";
  if (one.is_left) {
    return one.job + ": a process of it was missing, and asking again could crash NCCL " +
           one.version + " (2.29.2 is sound)";
  }
  if (one.is_hurt) {
    return one.job + ": a rank here is gone or stopped, and asking could crash NCCL " +
           one.version + " (2.29.2 is sound)";
  }
  return "";
}

}  // namespace

std::optional<Version> parse_version(std::string_view text) {
  Version version;
  int* const parts[] = {&version.major, &version.minor, &version.patch};
  int seen = 0;
  while (seen < 3 && !text.empty()) {
    const std::size_t end = std::min(text.find_first_not_of("0123456789"), text.size());
    const auto value = number_of(text.substr(0, end), -1);
    if (value < 0 || value > 9999) break;
    *parts[seen++] = static_cast<int>(value);
    if (end == text.size() || text[end] != '.') break;
    text.remove_prefix(end + 1);
  }
  if (seen < 2) return std::nullopt;
  return version;
}

Ability ability_of(const Version& version) {
  if (version < kFirst) return Ability::none;
  if (version < kFirstJson) return Ability::text_careful;
  return version < kSound ? Ability::json_careful : Ability::json;
}

Decision decide(Mode mode, const std::vector<Candidate>& candidates) {
  Decision decision;
  decision.json = true;
  if (mode == Mode::never) return decision;
  decision.why = "no training process with NCCL is seen here";
  bool any = false;
  for (const Candidate& one : candidates) {
    const auto version = parse_version(one.version);
    if (version && ability_of(*version) == Ability::none) {
      if (!any) decision.why = one.job + ": NCCL " + one.version + " has no RAS (2.24 and newer)";
      continue;
    }
    if (const std::string why = unreachable(mode, one); !why.empty()) {
      if (!any) decision.why = why;
      continue;
    }
    if (mode == Mode::safe) {
      decision.why = unsafe(one, version);
      if (!decision.why.empty()) {
        decision.ask = false;
        return decision;
      }
    }
    if (version && ability_of(*version) == Ability::text_careful) decision.json = false;
    if (!one.has_first_rank && (mode == Mode::safe || one.ranks_known)) {
      if (!any) decision.why = one.job + ": asked by the node that has its rank 0";
      continue;
    }
    any = true;
    decision.why.clear();
    decision.ask = true;
  }
  return decision;
}

}  // namespace collwatch::ras
