// SPDX-License-Identifier: Apache-2.0
//
// The TCP side of the peer port: accepts, challenges, authenticates, hands each request to one
// handler and sends back its answer, which may come later (a meeting collects). Bounded everywhere:
// connections (256 in all, 16 per remote address, 128 from this host itself), bytes, and 2 s for a
// whole conversation. Lives on the event loop's thread.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "daemon/base/event_loop.h"
#include "daemon/peer/address.h"
#include "daemon/peer/message.h"

namespace collwatch::peer {

class Server {
 public:
  /// Answers one request; call it at most once. Harmless after the client is gone.
  using Responder = std::function<void(const Reply&)>;
  /// `local` is the address the client reached us on, `remote` where it came from.
  using Handler =
      std::function<void(const Request&, const Address& local, const Address& remote, Responder)>;

  struct Stats {
    std::uint64_t accepted = 0, bad_token = 0, malformed = 0, over_limit = 0, timed_out = 0;
  };

  /// Binds and listens. An Error names the address and why ("address already in use").
  static model::Result<std::unique_ptr<Server>> create(base::EventLoop& loop,
                                                       const config::Endpoint& listen,
                                                       std::string token, Handler handler);
  virtual ~Server() = default;
  virtual std::uint16_t port() const = 0;
  virtual const Stats& stats() const = 0;
  virtual void set_token(std::string token) = 0;
};

}  // namespace collwatch::peer
