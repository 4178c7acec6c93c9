// SPDX-License-Identifier: Apache-2.0
//
// Real texts, as the 2022, 2023 and 2025 builds of Gloo print them, and what each must become.
#include "probes/gloo/outcome.h"

#include "tests/support/catch.h"

using namespace collwatch::gloo_probe;
using collwatch::model::Outcome;
using collwatch::model::Phase;
using collwatch::wire::Half;

TEST_CASE("every Gloo text ends in a typed outcome with the original kept") {
  struct Row {
    const char* text;
    Phase phase;
    Outcome outcome;
    Half half;
  };
  const Row rows[] = {
      // waits
      {"[./gloo/transport/tcp/unbound_buffer.cc:84] Timed out waiting 500ms for recv operation to "
       "complete",
       Phase::collective, Outcome::timeout, Half::recv},
      {"[./gloo/transport/tcp/unbound_buffer.cc:136] Timed out waiting 500ms for send operation to "
       "complete",
       Phase::collective, Outcome::timeout, Half::send},
      {"[./gloo/transport/tcp/unbound_buffer.cc:78] Timed out waiting 1ms for recv operation to "
       "complete",
       Phase::warmup, Outcome::timeout, Half::recv},
      {"[./gloo/transport/tcp/pair.cc:510] Read timeout [10.0.0.2]:4711", Phase::collective,
       Outcome::timeout, Half::recv},
      {"[./gloo/transport/tcp/pair.cc:380] Write timeout [10.0.0.2]:4711", Phase::collective,
       Outcome::timeout, Half::send},
      {"Application timeout caused pair closure", Phase::collective, Outcome::timeout, Half::none},
      // a connection that ended
      {"[./gloo/transport/tcp/pair.cc:589] Read error [10.77.0.12]:18854: Connection reset by peer",
       Phase::collective, Outcome::peer_lost, Half::none},
      {"[./gloo/transport/tcp/pair.cc:598] Connection closed by peer [10.77.0.12]:3983",
       Phase::collective, Outcome::peer_lost, Half::none},
      {"[./gloo/transport/tcp/pair.cc:534] Connection closed by peer [fd00::2]:3983", Phase::warmup,
       Outcome::peer_lost, Half::none},
      {"[./gloo/transport/tcp/pair.cc:395] writev [10.0.0.2]:4711: Broken pipe", Phase::collective,
       Outcome::peer_lost, Half::none},
      {"[./gloo/transport/tcp/pair.cc:700] Socket closed [10.0.0.2]:4711", Phase::collective,
       Outcome::peer_lost, Half::none},
      {"[./gloo/transport/tcp/pair.cc:525] Read error [10.0.0.2]:4711: Connection timed out",
       Phase::collective, Outcome::timeout, Half::none},
      {"[./gloo/transport/tcp/pair.cc:525] Read error [10.0.0.2]:4711: No route to host",
       Phase::collective, Outcome::unreachable, Half::none},
      // connecting, 2022
      {"[./gloo/transport/tcp/pair.cc:799] connect [10.83.0.12]:61353: Connection refused",
       Phase::connect, Outcome::refused, Half::none},
      {"[./gloo/transport/tcp/pair.cc:799] connect [10.83.0.12]:61353: No route to host",
       Phase::connect, Outcome::unreachable, Half::none},
      {"[./gloo/transport/tcp/pair.cc:799] connect [10.83.0.12]:61353: Network is unreachable",
       Phase::connect, Outcome::unreachable, Half::none},
      {"[./gloo/transport/tcp/pair.h:1] Connect timeout [10.83.0.13]:4711", Phase::connect,
       Outcome::timeout, Half::none},
      // connecting, 2023: the errno is lost
      {"[./gloo/transport/tcp/pair.cc:144] no error", Phase::connect, Outcome::init_failed,
       Half::none},
      {"[./gloo/transport/tcp/pair.h:301] Connect timeout [none]", Phase::connect, Outcome::timeout,
       Half::none},
      // connecting, 2025
      {"[./gloo/transport/tcp/pair.cc:152] timed out connecting: SO_ERROR: Connection refused, "
       "remote=[10.0.0.2]:4711$3",
       Phase::connect, Outcome::refused, Half::none},
      {"[./gloo/transport/tcp/pair.cc:152] timed out connecting: SO_ERROR: Success, "
       "remote=[10.0.0.2]:4711$3",
       Phase::connect, Outcome::timeout, Half::none},
      // dialects
      {"[enforce fail at ./gloo/transport/tcp/address.cc:45] sizeof(impl_) == bytes.size(). 136 vs "
       "170",
       Phase::connect, Outcome::mismatch, Half::none},
      {"[enforce fail at ./gloo/transport/tcp/pair.cc:510] op.preamble.length <= op.nbytes. 52 vs "
       "4",
       Phase::collective, Outcome::mismatch, Half::none},
      {"[enforce fail at ./gloo/transport/tcp/device.cc:1] ss1.ss_family == ss2.ss_family. 10 vs 2",
       Phase::connect, Outcome::mismatch, Half::none},
      {"address family mismatch", Phase::connect, Outcome::mismatch, Half::none},
      {"std::bad_alloc", Phase::connect, Outcome::mismatch, Half::none},
      {"[enforce fail at ./gloo/transport/tcp/device.cc:9] rv != 0. 0 vs 0. Cannot connect to self",
       Phase::connect, Outcome::mismatch, Half::none},
      // this host
      {"[enforce fail at ./gloo/transport/tcp/device.cc:137] bind_rv == 0. Unable to find address "
       "for 10.9.9.9; bind(2) for [10.9.9.9] failed with: Cannot assign requested address",
       Phase::device_init, Outcome::init_failed, Half::none},
      {"[enforce fail at ./gloo/transport/tcp/device.cc:70] ifa != nullptr. Unable to find address "
       "for: nosuch0",
       Phase::device_init, Outcome::init_failed, Half::none},
      {"[enforce fail at ./gloo/context.cc:27] rank < size. 9 vs 4", Phase::rendezvous,
       Outcome::misuse, Half::none},
      // stores
      {"[./gloo/rendezvous/file_store.cc:147] Wait timeout for key(s): p/1", Phase::rendezvous,
       Outcome::never_joined, Half::none},
      {"wait timeout after 3000ms, keys: /p/0/2", Phase::rendezvous, Outcome::never_joined,
       Half::none},
      // nobody knows
      {"something new", Phase::connect, Outcome::init_failed, Half::none},
      {"something new", Phase::device_init, Outcome::init_failed, Half::none},
      {"something new", Phase::warmup, Outcome::error, Half::none},
      {"", Phase::collective, Outcome::error, Half::none},
  };
  for (const Row& row : rows) {
    INFO(row.text);
    const Failure failure = classify(row.text, row.phase);
    CHECK(collwatch::model::name(failure.outcome) == collwatch::model::name(row.outcome));
    CHECK(collwatch::model::name(failure.half) == collwatch::model::name(row.half));
    CHECK(failure.text == row.text);
  }
}
