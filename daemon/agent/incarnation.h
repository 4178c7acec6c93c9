// SPDX-License-Identifier: Apache-2.0
//
// This process's identity among all processes that ever carried this node's name: boot id, start
// time and random bits, in hex. Differs after every restart and every reboot.
#pragma once

#include <string>

namespace collwatch::agent {

std::string make_incarnation();

}  // namespace collwatch::agent
