// SPDX-License-Identifier: Apache-2.0
//
// Creation is done under the lock: a device takes about a millisecond, and two of them for one
// address would be one thread too many.
#include "probes/gloo/devices.h"

#include <gloo/transport/tcp/device.h>
#include <netdb.h>

#include "probes/gloo/build_id.h"
#include "probes/gloo/failure.h"
#include "probes/gloo/outcome.h"

namespace collwatch::gloo_probe {
namespace {

// Up to four descriptors stay behind a failed connect, so this is at most 128 of them.
constexpr int kFailedConnectsPerDevice = 32;

bool is_numeric(const std::string& address) {
  addrinfo hints{};
  hints.ai_flags = AI_NUMERICHOST;
  addrinfo* found = nullptr;
  if (::getaddrinfo(address.c_str(), nullptr, &hints, &found) != 0) return false;
  ::freeaddrinfo(found);
  return true;
}

}  // namespace

std::shared_ptr<GlooDevice> Devices::for_address(const std::string& address) {
  if (!is_numeric(address)) {
    throw ProbeError(model::Outcome::misuse,
                     "local address '" + address + "' is not a numeric address");
  }
  const std::lock_guard lock(mutex_);
  Entry& entry = devices_[address];
  if (!entry.device) {
    ::gloo::transport::tcp::attr attr;
    attr.hostname = address;
    entry.device = ::gloo::transport::tcp::CreateDevice(attr);
    entry.failed_connects = 0;
  }
  return entry.device;
}

void Devices::connect_failed(const std::string& address) {
  if (!kDeviceListener) return;
  const std::lock_guard lock(mutex_);
  const auto entry = devices_.find(address);
  if (entry == devices_.end()) return;
  if (++entry->second.failed_connects >= kFailedConnectsPerDevice) devices_.erase(entry);
}

}  // namespace collwatch::gloo_probe
