// SPDX-License-Identifier: Apache-2.0
//
// Which paths are known to be bad already: those get more patience, and no megabytes of ours. Pure.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "daemon/attribute/evidence.h"
#include "daemon/attribute/impairment.h"
#include "exporters/snapshot.h"

namespace collwatch::agent {

/// Is the path between `node` and `peer` slow or lossy, as a verdict says already?
inline bool known_impaired(const std::vector<exporters::Verdict>& verdicts, const std::string& node,
                           const std::string& peer) {
  const std::string link = std::min(node, peer) + "<->" + std::max(node, peer);
  return std::any_of(verdicts.begin(), verdicts.end(), [&](const exporters::Verdict& verdict) {
    const std::string& entity = verdict.entity;
    return verdict.fingerprint == model::Fingerprint::straggler &&
           (entity == peer || entity == node || entity == link);
  });
}

/// What verdicts call slow or lossy; `names`: sorted, their indices are the members.
inline std::vector<attribute::Cause> impaired_causes(
    const std::vector<exporters::Verdict>& verdicts, const std::vector<std::string>& names) {
  std::vector<attribute::Cause> causes;
  const auto index = [&names](const std::string& name) {
    return static_cast<attribute::Member>(std::find(names.begin(), names.end(), name) -
                                          names.begin());
  };
  for (const exporters::Verdict& verdict : verdicts) {
    if (verdict.fingerprint != model::Fingerprint::straggler) continue;
    const std::size_t arrow = verdict.entity.find("<->");
    const attribute::Member a = index(verdict.entity.substr(0, arrow));
    const attribute::Member b =
        arrow == std::string::npos ? a : index(verdict.entity.substr(arrow + 3));
    if (std::max(a, b) < names.size()) causes.push_back({verdict.kind, a, b, {}});
  }
  return causes;
}

/// Does anybody tell of an edge that fails, loses datagrams or is late?
inline bool any_weak(const std::vector<attribute::ObserverReport>& reports) {
  for (const attribute::ObserverReport& report : reports) {
    for (const attribute::EdgeWord& word : report.edges) {
      const bool fails = word.state == attribute::EdgeState::failing;
      if (fails || word.late_ms > 0 || word.lost >= attribute::kLossyPath) return true;
    }
  }
  return false;
}

}  // namespace collwatch::agent
