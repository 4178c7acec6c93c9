// SPDX-License-Identifier: Apache-2.0
//
// Gloo's TCP devices, one for each local address, shared by all edges and the group: a device is a
// thread and a few descriptors, a context on it one descriptor a peer. Called from every edge's and
// the group's thread.
#pragma once

#include <map>
#include <mutex>
#include <string>

#include "probes/gloo/mesh.h"

namespace collwatch::gloo_probe {

class Devices {
 public:
  /// Throws ProbeError: misuse if `address` is not numeric (Gloo crashes on a name that it cannot
  /// resolve), init_failed if it is none of this host's.
  std::shared_ptr<GlooDevice> for_address(const std::string& address);

  /// A device with a shared listener keeps what half-finished connects left in it until it is
  /// destroyed; after some dozens of them the next caller gets a new one. The old one goes with its
  /// last context.
  void connect_failed(const std::string& address);

 private:
  struct Entry {
    std::shared_ptr<GlooDevice> device;
    int failed_connects = 0;
  };

  std::mutex mutex_;
  std::map<std::string, Entry> devices_;
};

}  // namespace collwatch::gloo_probe
