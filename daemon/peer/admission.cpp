// SPDX-License-Identifier: Apache-2.0
//
// Two counters and their limits.
#include "daemon/peer/admission.h"

#include "probes/model/result.h"

namespace collwatch::peer {

bool Admission::enter(const std::string& host, bool own_host) {
  if (size_ >= kMaxConnections) return false;
  const auto known = per_host_.find(host);
  const std::size_t limit = own_host ? kMaxFromOwnHost : kMaxPerHost;
  if (known != per_host_.end() && known->second >= limit) return false;
  ++per_host_[host];
  ++size_;
  return true;
}

void Admission::leave(const std::string& host) {
  const auto known = per_host_.find(host);
  COLLWATCH_ASSERT(known != per_host_.end());
  if (--known->second == 0) per_host_.erase(known);
  --size_;
}

}  // namespace collwatch::peer
