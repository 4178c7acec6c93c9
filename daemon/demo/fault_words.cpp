// SPDX-License-Identifier: Apache-2.0
//
// What each fault is called when people read about it. The other half of fault.h.
#include <cmath>
#include <sstream>

#include "daemon/demo/fault.h"

namespace collwatch::demo {
namespace {

/// "10", "0.6": as short as it can be.
std::string number(double value) {
  std::ostringstream text;
  text << value;
  return text.str();
}

std::string names(const std::vector<int>& side) {
  std::string all;
  for (const int node : side) all += (all.empty() ? "" : ",") + node_name(node);
  return all;
}

}  // namespace

std::string describe(const Fault& fault) {
  const std::string n = fault.node >= 0 ? node_name(fault.node) : "";
  const std::string other = fault.other >= 0 ? node_name(fault.other) : "";
  switch (fault.kind) {
    case FaultKind::kill:
      return n + " was killed";
    case FaultKind::killworker:
      return n + "'s worker was killed";
    case FaultKind::stop:
      return n + " was stopped";
    case FaultKind::stopworker:
      return n + "'s worker was stopped";
    case FaultKind::drop:
      if (fault.direction == Direction::node) return n + " was cut off";
      if (fault.direction == Direction::both_ways)
        return "the link " + n + "<->" + other + " was cut";
      return "everything from " + n + " to " + other + " was dropped";
    case FaultKind::egress:
      return "everything leaving " + n + " was dropped";
    case FaultKind::ingress:
      return "everything arriving at " + n + " was dropped";
    case FaultKind::linkdown:
      return n + "'s interface was taken down";
    case FaultKind::refuse:
      return n + " refused every TCP connection";
    case FaultKind::restart:
      return n + " was restarted";
    case FaultKind::absent:
      return n + (fault.duration ? " was started late" : " was never started");
    case FaultKind::stray:
      return "strangers knocked on every port";
    case FaultKind::mtu:
      return "packets of more than " + number(fault.value) + " bytes to and from " + n +
             " were dropped";
    case FaultKind::slow:
      return n + "'s network was slowed to " + number(fault.value / 1e6) + " Mbit/s";
    case FaultKind::loss:
      return number(fault.value * 100) + " % of the packets to and from " + n + " were dropped";
    case FaultKind::iface:
      return n + " was restarted with another address than the members know";
    case FaultKind::version:
      return n + " was restarted with another build of Gloo";
    case FaultKind::corrupt:
      return n + " was restarted with a worker that flips bits";
    case FaultKind::partition:
      return "the network was cut between " + names(fault.side) + " and " + names(fault.rest);
    case FaultKind::clock:
      return n + "'s wall clock was set " + number(std::abs(fault.value) / 1000) + " s " +
             (fault.value > 0 ? "ahead" : "back");
    case FaultKind::hog:
      return n + " was starved of processor time";
    case FaultKind::scale:
      return "the ring grew to " + number(fault.value) + " nodes";
    case FaultKind::none:
      break;
  }
  return "nothing was injected";
}

}  // namespace collwatch::demo
