// SPDX-License-Identifier: Apache-2.0
//
// The worker's mouth: one packet per message to the daemon, from any thread. A daemon that is gone
// is noticed where the channel is read, so a failed send is not an error here.
#pragma once

#include <string>

#include "probes/wire/channel.h"
#include "probes/wire/message.h"

namespace collwatch::gloo_probe {

class Reporter {
 public:
  explicit Reporter(const wire::Channel& channel) : channel_(channel) {}

  void send(const wire::FromWorker& message) const { (void)channel_.send(wire::encode(message)); }

  /// Said before the phase is entered, so that a hang is named by the last one.
  void enter(const std::string& scope, model::Phase phase) const {
    send(wire::PhaseEntered{scope, phase});
  }

 private:
  const wire::Channel& channel_;
};

}  // namespace collwatch::gloo_probe
