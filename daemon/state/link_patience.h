// SPDX-License-Identifier: Apache-2.0
//
// When an impaired link may be told: a slow or lossy node shows on one of its edges first and on the
// others some rounds later, and recovers so; until then it looks like a link. Nodes pass at once.
// Used by the agent, once an evaluation; pure, rounds passed in.
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "daemon/attribute/impairment.h"

namespace collwatch::state {

class LinkPatience {
 public:
  /// Those of `found` that may be told in this round.
  std::vector<attribute::Impairment> pass(std::int64_t round,
                                          const std::vector<attribute::Impairment>& found);

 private:
  using Link = std::pair<attribute::Member, attribute::Member>;
  struct Wait {
    std::int64_t since = 0;
    std::int64_t last = 0;
  };
  bool node_was_named(const Link& link, std::int64_t round) const;

  std::map<Link, Wait> waits_;
  std::map<attribute::Member, std::int64_t> nodes_;  ///< round in which it was last impaired
};

}  // namespace collwatch::state
