// SPDX-License-Identifier: Apache-2.0
//
// One connected two-member context and the exchange on it. Rank 0 starts, rank 1 answers:
//
//   rank 0                                       rank 1 (its token receive is always posted)
//   token{round, large size}  ---------------->
//                             <----------------  reply          small part, one deadline
//   go                        ---------------->
//   large                     <--------------->  large          large part, a deadline of its own,
//   confirm                   <--------------->  confirm        both ways at once
//
// Go and confirm say "what you sent arrived intact"; without them a sender would only know that its
// kernel took the bytes. A receive is always posted before the other side may send a size that was
// not there before: a Gloo process that is sent more than it posted aborts. Send and receive are
// awaited apart, so that a failure says which half it was. The first failure is final: one timeout
// closes a Gloo context for good, so the owner destroys the Link and reports.
//
// Threads: the edge's own thread does everything; nudge() may come from any other.
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <vector>

#include "probes/gloo/failure.h"
#include "probes/gloo/mesh.h"
#include "probes/gloo/payload.h"

namespace collwatch::gloo_probe {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

/// One finished exchange.
struct Exchange {
  std::int64_t round = 0;
  std::uint32_t payload_bytes = kSmallBytes;
  std::int64_t round_trip_us = 0;        ///< token to reply, at rank 1 reply to go
  std::int64_t large_round_trip_us = 0;  ///< from our first large byte to the peer's confirm
};

/// Why an exchange did not finish.
class LinkError : public std::exception {
 public:
  LinkError(Failure why, std::int64_t in_round, std::uint32_t with_bytes)
      : failure(std::move(why)), round(in_round), failed_bytes(with_bytes) {}
  const char* what() const noexcept override { return failure.text.c_str(); }

  const Failure failure;
  const std::int64_t round;
  const std::uint32_t failed_bytes;
};

class Link {
 public:
  struct Options {
    int rank = 0;
    std::uint64_t own_seal = 0;
    std::uint64_t peer_seal = 0;
    const std::atomic<bool>* cancelled = nullptr;  ///< set before a nudge: leave with Interrupted
  };

  Link(std::shared_ptr<GlooContext> context, Options options);
  ~Link();
  Link(const Link&) = delete;
  Link& operator=(const Link&) = delete;

  // Throw LinkError, or Interrupted.

  /// Rank 0: one exchange. `large_bytes` 0 for none, else up to kMaxLargeBytes.
  Exchange start(std::int64_t round, std::uint32_t large_bytes, milliseconds timeout);
  /// Rank 0 between rounds: returns when nudged, throws as soon as the peer is gone.
  void idle();
  /// Rank 1: waits for a token until `token_deadline`, then exchanges.
  Exchange answer(Clock::time_point token_deadline, milliseconds timeout);
  /// Rank 1: when the last token came, or the construction.
  Clock::time_point last_token() const { return last_token_; }

  /// Wakes the edge's thread wherever it waits; an exchange in progress goes on unless cancelled.
  void nudge();

 private:
  class Lane;

  std::uint32_t accept_token();
  std::int64_t exchange_large(Lane& large_in, Lane& confirm_in, milliseconds timeout);
  void begin_part(std::uint32_t bytes, milliseconds timeout);
  void send(Lane& lane, const Payload& payload);
  void await_send(Lane& lane);
  /// `missing`: which half it is that failed if this does not come.
  void await_recv(Lane& lane, wire::Half missing);
  void await(Lane& lane, wire::Half half, wire::Half missing);
  void expect(Lane& lane, const Payload& payload);
  template <typename Steps>
  auto guarded(Steps&& steps);
  [[noreturn]] void fail(Failure failure) const;
  std::uint64_t slot(PayloadKind kind, bool from_rank_0) const;
  std::unique_ptr<Lane> outgoing(PayloadKind kind, std::uint32_t bytes);
  std::unique_ptr<Lane> incoming(PayloadKind kind, std::uint32_t bytes);

  const std::shared_ptr<GlooContext> context_;
  const Options options_;
  std::mutex lanes_mutex_;
  std::vector<Lane*> lanes_;       // those that may be waited on
  std::unique_ptr<Lane> call_in_;  // token (rank 1) or reply (rank 0): posted at all times
  std::unique_ptr<Lane> call_out_;
  std::unique_ptr<Lane> go_;  // rank 0
  Clock::time_point last_token_;

  // Where the exchange is: what a failure means.
  std::int64_t round_ = 0;
  std::uint32_t part_bytes_ = kSmallBytes;
  Clock::time_point part_since_;
  Clock::time_point part_deadline_;
  wire::Half missing_ = wire::Half::none;
};

}  // namespace collwatch::gloo_probe
