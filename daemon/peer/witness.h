// SPDX-License-Identifier: Apache-2.0
//
// The UDP side of the peer port: sends and receives authenticated, replay-safe WitnessMessages.
// Only datagrams to us, from a known (name, incarnation), with a good MAC and a fresh sequence
// number reach the handler. Lives on the event loop's thread; send never blocks.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "daemon/base/event_loop.h"
#include "daemon/peer/address.h"
#include "daemon/peer/message.h"

namespace collwatch::peer {

class WitnessSocket {
 public:
  using Handler = std::function<void(const WitnessMessage&, const Address& from)>;
  struct Stats {
    std::uint64_t sent = 0, send_failed = 0, received = 0, bad_mac = 0, replayed = 0,
                  unknown_sender = 0, misdirected = 0, malformed = 0;
  };

  /// `self` is this node's name: datagrams whose `to` is not its name_hash are dropped
  /// (misdirected). Empty accepts those to anybody, which leaves them replayable elsewhere.
  static model::Result<std::unique_ptr<WitnessSocket>> create(base::EventLoop& loop,
                                                              const config::Endpoint& listen,
                                                              std::string token, Handler handler,
                                                              const std::string& self = "");
  virtual ~WitnessSocket() = default;
  virtual std::uint16_t port() const = 0;

  /// From now on accept `name` with this incarnation (learned over TCP) and no other, and only if
  /// it shows this cookie (0: none is asked for).
  virtual void admit(const std::string& name, const std::string& incarnation,
                     std::uint64_t cookie = 0) = 0;
  virtual void forget(const std::string& name) = 0;
  /// Sets the sequence number and sends; the caller sets `to`. Returns false when the kernel
  /// refused or the message does not fit a datagram (both counted).
  virtual bool send(const Address& to, WitnessMessage message) = 0;
  virtual const Stats& stats() const = 0;
  virtual void set_token(std::string token) = 0;
};

}  // namespace collwatch::peer
