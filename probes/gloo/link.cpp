// SPDX-License-Identifier: Apache-2.0
//
// The exchange, step by step. Every wait goes through await(), which knows the deadline, the half
// and the way out; guarded() is where Gloo's exceptions end.
#include "probes/gloo/link.h"

#include <gloo/transport/unbound_buffer.h>

#include <algorithm>

#include "probes/gloo/outcome.h"
#include "probes/model/result.h"

namespace collwatch::gloo_probe {
namespace {

using wire::Half;

// Longer than any round; a wait that Gloo itself gives up would close the context.
constexpr milliseconds kUntilNudged = std::chrono::hours(24);

std::int64_t microseconds_since(Clock::time_point start) {
  return std::chrono::duration_cast<std::chrono::microseconds>(Clock::now() - start).count();
}

}  // namespace

/// Memory and Gloo's handle on it, one message wide, known to nudge() while it lives.
class Link::Lane {
 public:
  Lane(Link& link, PayloadKind kind, bool from_rank_0, std::uint32_t size)
      : link_(link),
        slot_(link.slot(kind, from_rank_0)),
        bytes_(size),
        buffer_(link.context_->createUnboundBuffer(bytes_.data(), bytes_.size())) {
    const std::lock_guard lock(link_.lanes_mutex_);
    link_.lanes_.push_back(this);
  }
  ~Lane() {
    const std::lock_guard lock(link_.lanes_mutex_);
    std::erase(link_.lanes_, this);
  }
  Lane(const Lane&) = delete;
  Lane& operator=(const Lane&) = delete;

  void post_recv() { buffer_->recv(peer(), slot_, 0, bytes_.size()); }
  void post_send() { buffer_->send(peer(), slot_, 0, bytes_.size()); }
  bool wait(Half half, milliseconds timeout) {
    return half == Half::send ? buffer_->waitSend(timeout) : buffer_->waitRecv(timeout);
  }
  void abort_waits() {
    buffer_->abortWaitSend();
    buffer_->abortWaitRecv();
  }
  std::span<char> bytes() { return bytes_; }

 private:
  int peer() const { return 1 - link_.options_.rank; }

  Link& link_;
  const std::uint64_t slot_;
  std::vector<char> bytes_;
  std::unique_ptr<::gloo::transport::UnboundBuffer> buffer_;  // goes before the bytes
};

/// Runs `steps`; whatever Gloo throws leaves as a LinkError that says where the exchange was.
template <typename Steps>
auto Link::guarded(Steps&& steps) {
  try {
    return steps();
  } catch (const Interrupted&) {
    throw;
  } catch (const LinkError&) {
    throw;
  } catch (const std::exception& error) {
    Failure failure = classify(error.what(), model::Phase::collective);
    const bool large = tried_bytes_ > kSmallBytes;
    // The peer's deadline for the same bytes is as long as ours, and whoever is first to give up
    // closes the connection. So late in the large part a closed connection is that same timeout.
    if (large && failure.outcome == model::Outcome::peer_lost &&
        Clock::now() - large_since_ >= large_timeout_ / 2) {
      failure.outcome = model::Outcome::timeout;
    }
    if (failure.outcome == model::Outcome::timeout) {
      // No confirm means that what *we* sent did not arrive.
      failure.half = confirming_ ? Half::send : waiting_for_;
    }
    fail(std::move(failure));
  }
}

Link::Link(std::shared_ptr<GlooContext> context, Options options)
    : context_(std::move(context)), options_(options), last_token_(Clock::now()) {
  const bool starter = options_.rank == 0;
  guarded([&] {
    call_in_ = incoming(starter ? PayloadKind::reply : PayloadKind::token, kSmallBytes);
    call_out_ = std::make_unique<Lane>(*this, starter ? PayloadKind::token : PayloadKind::reply,
                                       starter, kSmallBytes);
  });
}

Link::~Link() = default;

std::uint64_t Link::slot(PayloadKind kind, bool from_rank_0) const {
  return 2 * static_cast<std::uint64_t>(kind) + (from_rank_0 ? 1 : 0);
}

std::unique_ptr<Link::Lane> Link::outgoing(const Payload& payload, std::uint32_t bytes) {
  auto lane = std::make_unique<Lane>(*this, payload.kind, options_.rank == 0, bytes);
  fill_payload(lane->bytes(), payload, options_.own_seal);
  lane->post_send();
  return lane;
}

std::unique_ptr<Link::Lane> Link::incoming(PayloadKind kind, std::uint32_t bytes) {
  auto lane = std::make_unique<Lane>(*this, kind, options_.rank != 0, bytes);
  lane->post_recv();
  return lane;
}

void Link::nudge() {
  const std::lock_guard lock(lanes_mutex_);
  for (Lane* lane : lanes_) lane->abort_waits();
}

void Link::await(Half half, Lane& lane, Clock::time_point deadline) {
  waiting_for_ = half;
  for (;;) {
    if (options_.cancelled->load()) throw Interrupted();
    const auto left = std::chrono::ceil<milliseconds>(deadline - Clock::now());
    if (lane.wait(half, std::max(left, milliseconds(1)))) return;
  }
}

void Link::await_send(Lane& lane, Clock::time_point deadline) {
  await(Half::send, lane, deadline);
}
void Link::await_recv(Lane& lane, Clock::time_point deadline) {
  await(Half::recv, lane, deadline);
}

void Link::fail(Failure failure) const {
  throw LinkError(std::move(failure), round_, tried_bytes_);
}

Exchange Link::start(std::int64_t round, std::uint32_t large_bytes, milliseconds timeout) {
  COLLWATCH_ASSERT(options_.rank == 0 && large_bytes <= kMaxLargeBytes);
  return guarded([&] {
    round_ = round;
    tried_bytes_ = kSmallBytes;
    const auto began = Clock::now();
    std::unique_ptr<Lane> large_in;
    std::unique_ptr<Lane> confirm_in;
    if (large_bytes > 0) {
      large_in = incoming(PayloadKind::large, large_bytes);
      confirm_in = incoming(PayloadKind::confirm, kSmallBytes);
    }
    fill_payload(call_out_->bytes(), {PayloadKind::token, round, large_bytes}, options_.own_seal);
    call_out_->post_send();
    await_send(*call_out_, began + timeout);
    await_recv(*call_in_, began + timeout);
    const auto reply = expect_payload(call_in_->bytes(), options_.peer_seal,
                                      {PayloadKind::reply, round, large_bytes});
    if (!reply) fail(reply.error());
    call_in_->post_recv();

    Exchange done{round, std::max(kSmallBytes, large_bytes), microseconds_since(began), 0};
    if (large_bytes > 0) {
      const auto large_began = Clock::now();
      exchange_large(round, *large_in, *confirm_in, timeout);
      done.large_round_trip_us = microseconds_since(large_began);
    }
    return done;
  });
}

void Link::idle() {
  guarded([&] {
    waiting_for_ = Half::none;
    tried_bytes_ = kSmallBytes;
    if (call_in_->wait(Half::recv, kUntilNudged)) {
      fail({model::Outcome::mismatch, Half::none, "the peer replied to nothing"});
    }
  });
}

Exchange Link::answer(Clock::time_point token_deadline, milliseconds timeout) {
  COLLWATCH_ASSERT(options_.rank == 1);
  return guarded([&] {
    tried_bytes_ = kSmallBytes;
    await_recv(*call_in_, token_deadline);
    last_token_ = Clock::now();
    const auto token = read_payload(call_in_->bytes(), options_.peer_seal);
    if (!token) fail(token.error());
    if (token->kind != PayloadKind::token || token->large_bytes > kMaxLargeBytes ||
        (token->large_bytes > 0 && token->large_bytes < kSmallBytes)) {
      fail({model::Outcome::mismatch, Half::none, "received something that is not a token"});
    }
    round_ = token->round;
    const std::uint32_t large_bytes = token->large_bytes;
    call_in_->post_recv();

    std::unique_ptr<Lane> large_in;
    std::unique_ptr<Lane> confirm_in;
    if (large_bytes > 0) {
      large_in = incoming(PayloadKind::large, large_bytes);
      confirm_in = incoming(PayloadKind::confirm, kSmallBytes);
    }
    fill_payload(call_out_->bytes(), {PayloadKind::reply, round_, large_bytes}, options_.own_seal);
    call_out_->post_send();
    await_send(*call_out_, last_token_ + timeout);

    Exchange done{round_, std::max(kSmallBytes, large_bytes), 0, 0};
    if (large_bytes > 0) {
      const auto large_began = Clock::now();
      exchange_large(round_, *large_in, *confirm_in, timeout);
      done.large_round_trip_us = microseconds_since(large_began);
    }
    return done;
  });
}

void Link::exchange_large(std::int64_t round, Lane& large_in, Lane& confirm_in,
                          milliseconds timeout) {
  const auto bytes = static_cast<std::uint32_t>(large_in.bytes().size());
  const Payload large{PayloadKind::large, round, bytes};
  const Payload confirm{PayloadKind::confirm, round, bytes};
  tried_bytes_ = bytes;
  large_since_ = Clock::now();
  large_timeout_ = timeout;
  const auto deadline = large_since_ + timeout;

  const auto large_out = outgoing(large, bytes);
  await_send(*large_out, deadline);
  await_recv(large_in, deadline);
  if (const auto got = expect_payload(large_in.bytes(), options_.peer_seal, large); !got) {
    fail(got.error());
  }
  const auto confirm_out = outgoing(confirm, kSmallBytes);
  await_send(*confirm_out, deadline);
  confirming_ = true;
  await_recv(confirm_in, deadline);
  confirming_ = false;
  if (const auto got = expect_payload(confirm_in.bytes(), options_.peer_seal, confirm); !got) {
    fail(got.error());
  }
}

}  // namespace collwatch::gloo_probe
