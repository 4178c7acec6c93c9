// SPDX-License-Identifier: Apache-2.0
//
// The words of one update, looked up by edge, with what is over left out: shared by the parts of
// the tracker. Internal to daemon/state; holds pointers into the Evidence it was made from.
#pragma once

#include <map>
#include <vector>

#include "daemon/attribute/evidence.h"
#include "daemon/state/record.h"

namespace collwatch::state {

/// Would `cause` break this edge?
bool cause_covers(const attribute::Cause& cause, const EdgeKey& edge);
bool takes_part(const attribute::Evidence& evidence, attribute::Member member);
inline EdgeKey reversed(const EdgeKey& edge) {
  return {edge.second, edge.first};
}

class Words {
 public:
  explicit Words(const attribute::Evidence& evidence);

  const attribute::EdgeWord* find(const EdgeKey& edge) const;
  bool failing(const EdgeKey& edge) const;
  /// One of its ends has seen this edge work since.
  bool works(const EdgeKey& edge) const;
  /// The failing words that `cause` owns.
  std::vector<EdgeKey> failing_under(const attribute::Cause& cause) const;

 private:
  /// The other end's newer ok: the failure is over, its observer's report is late.
  bool is_over(const EdgeKey& edge, const attribute::EdgeWord& word) const;

  std::map<EdgeKey, const attribute::EdgeWord*> words_;
};

}  // namespace collwatch::state
