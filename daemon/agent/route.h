// SPDX-License-Identifier: Apache-2.0
//
// Which of our own addresses leads to a peer: the configured one (network.address, .interface),
// else the kernel's routing decision, asked without sending anything. Gloo's device binds this
// address, so that its traffic takes the path that the meeting proved.
#pragma once

#include "daemon/config/config.h"
#include "daemon/peer/address.h"

namespace collwatch::agent {

/// Our numeric address towards `to`, port 0. An Error when there is no route.
model::Result<peer::Address> local_address_towards(const config::Config& config,
                                                   const peer::Address& to);

/// What to bind a call to: only what the configuration pins, else an invalid (any) address.
peer::Address bind_address(const config::Config& config, const peer::Address& to);

void set_port(peer::Address& address, std::uint16_t port);

/// The first address of `interface` in `family`, if it has one.
model::Result<peer::Address> interface_address(const std::string& interface, int family);

}  // namespace collwatch::agent
