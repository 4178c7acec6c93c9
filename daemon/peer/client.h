// SPDX-License-Identifier: Apache-2.0
//
// One request to one peer, asynchronously on the event loop: connect, take the challenge, send,
// receive. How far it came is the evidence (design 1.5): refused, no answer to SYN, connected but
// no challenge (a stopped daemon: the kernel accepts for it), challenged but no reply.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "daemon/base/event_loop.h"
#include "daemon/peer/address.h"
#include "daemon/peer/message.h"

namespace collwatch::peer {

enum class CallStage { connecting, challenged_awaited, reply_awaited, done };

struct CallResult {
  CallStage stage = CallStage::connecting;  ///< how far it came; done = `reply` is set
  int sys_errno = 0;                        ///< ECONNREFUSED, EHOSTUNREACH, ...; 0 on a deadline
  bool timed_out = false;
  bool protocol_error = false;  ///< bad MAC, garbage: a stranger on that port
  std::string text;             ///< one sentence
  std::optional<Reply> reply;
  Address local;  ///< our end; valid once connected
};

/// Destroying a Call cancels it; its callback is then never called. The callback is called exactly
/// once otherwise and may destroy the Call.
class Call {
 public:
  using Callback = std::function<void(CallResult)>;
  /// `bind_to`: local address to bind, if valid() (network.address / network.interface).
  static std::unique_ptr<Call> start(base::EventLoop& loop, const Address& to,
                                     const Address& bind_to, const std::string& token,
                                     Request request, base::Millis deadline, Callback callback);
  virtual ~Call() = default;
};

}  // namespace collwatch::peer
