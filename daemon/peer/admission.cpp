// SPDX-License-Identifier: Apache-2.0
//
// Two counters and their limits.
#include "daemon/peer/admission.h"

#include "probes/model/result.h"

namespace collwatch::peer {

bool Admission::enter(const std::string& host, bool own_host) {
  if (size_ >= kMaxConnections || is_full(host, own_host)) return false;
  ++per_host_[host];
  ++size_;
  return true;
}

std::size_t Admission::held_by(const std::string& host) const {
  const auto known = per_host_.find(host);
  return known == per_host_.end() ? 0 : known->second;
}

bool Admission::is_full(const std::string& host, bool own_host) const {
  return held_by(host) >= (own_host ? kMaxFromOwnHost : kMaxPerHost);
}

void Admission::leave(const std::string& host) {
  const auto known = per_host_.find(host);
  COLLWATCH_ASSERT(known != per_host_.end());
  if (--known->second == 0) per_host_.erase(known);
  --size_;
}

}  // namespace collwatch::peer
