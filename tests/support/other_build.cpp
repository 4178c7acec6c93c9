// SPDX-License-Identifier: Apache-2.0
//
// The Gloo worker of another build, for tests: linked with the shipped worker's other parts, it only
// calls itself something else, so that agents must keep it apart before a byte of Gloo flows.
#define build_id shipped_build_id
#include "probes/gloo/build_id.cpp"  // NOLINT(bugprone-suspicious-include): its function, renamed
#undef build_id

namespace collwatch::gloo_probe {

std::string build_id();
std::string build_id() {
  return shipped_build_id() + "/another";
}

}  // namespace collwatch::gloo_probe
