// SPDX-License-Identifier: Apache-2.0
//
// What load must know about this machine: its name and its interfaces with their addresses. A
// value, so that tests describe a machine instead of having one.
#pragma once

#include <string>
#include <vector>

#include "probes/model/result.h"

namespace collwatch::config {

struct Interface {
  std::string name;
  std::vector<std::string> addresses;  ///< numeric, IPv4 and IPv6, without zone
};

struct Host {
  std::string name;  ///< gethostname
  std::vector<Interface> interfaces;
};

model::Result<Host> this_host();

}  // namespace collwatch::config
