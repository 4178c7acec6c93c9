// SPDX-License-Identifier: Apache-2.0
//
// The exchange, step by step. Every wait goes through await(), which knows the deadline and the way
// out; guarded() is where Gloo's exceptions end.
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
    // The peer's deadline for the same bytes is as long as ours, and whoever is first to give up
    // closes the connection. So a connection that closes late in a part is that same timeout.
    const auto waited = Clock::now() - part_since_;
    const bool in_part = missing_ != Half::none && part_deadline_ > part_since_;
    if (in_part && failure.outcome == model::Outcome::peer_lost &&
        waited >= (part_deadline_ - part_since_) / 2) {
      failure.outcome = model::Outcome::timeout;
    }
    if (failure.outcome == model::Outcome::timeout) failure.half = missing_;
    fail(std::move(failure));
  }
}

void Link::fail(Failure failure) const {
  throw LinkError(std::move(failure), round_, part_bytes_);
}

Link::Link(std::shared_ptr<GlooContext> context, Options options)
    : context_(std::move(context)), options_(options), last_token_(Clock::now()) {
  const bool starter = options_.rank == 0;
  guarded([&] {
    call_in_ = incoming(starter ? PayloadKind::reply : PayloadKind::token, kSmallBytes);
    call_out_ = outgoing(starter ? PayloadKind::token : PayloadKind::reply, kSmallBytes);
    go_ = starter ? outgoing(PayloadKind::go, kSmallBytes) : nullptr;
  });
}

Link::~Link() = default;

std::uint64_t Link::slot(PayloadKind kind, bool from_rank_0) const {
  return 2 * static_cast<std::uint64_t>(kind) + (from_rank_0 ? 1 : 0);
}

std::unique_ptr<Link::Lane> Link::outgoing(PayloadKind kind, std::uint32_t bytes) {
  return std::make_unique<Lane>(*this, kind, options_.rank == 0, bytes);
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

// --- steps ------------------------------------------------------------------------------------

void Link::begin_part(std::uint32_t bytes, milliseconds timeout) {
  part_bytes_ = bytes;
  part_since_ = Clock::now();
  part_deadline_ = part_since_ + timeout;
}

void Link::send(Lane& lane, const Payload& payload) {
  fill_payload(lane.bytes(), payload, options_.own_seal);
  lane.post_send();
}

void Link::await(Lane& lane, Half half, Half missing) {
  missing_ = missing;
  for (;;) {
    if (options_.cancelled->load()) throw Interrupted();
    const auto left = std::chrono::ceil<milliseconds>(part_deadline_ - Clock::now());
    if (lane.wait(half, std::max(left, milliseconds(1)))) break;
  }
  missing_ = Half::none;
}

void Link::await_send(Lane& lane) {
  await(lane, Half::send, Half::send);
}
void Link::await_recv(Lane& lane, Half missing) {
  await(lane, Half::recv, missing);
}

void Link::expect(Lane& lane, const Payload& payload) {
  const auto got = expect_payload(lane.bytes(), options_.peer_seal, payload);
  if (!got) fail(got.error());
}

// --- exchanges --------------------------------------------------------------------------------

Exchange Link::start(std::int64_t round, std::uint32_t large_bytes, milliseconds timeout) {
  COLLWATCH_ASSERT(options_.rank == 0 && large_bytes <= kMaxLargeBytes);
  return guarded([&] {
    round_ = round;
    begin_part(kSmallBytes, timeout);
    const bool large = large_bytes > 0;
    const auto large_in = large ? incoming(PayloadKind::large, large_bytes) : nullptr;
    const auto confirm_in = large ? incoming(PayloadKind::confirm, kSmallBytes) : nullptr;

    send(*call_out_, {PayloadKind::token, round, large_bytes});
    await_send(*call_out_);
    await_recv(*call_in_, Half::recv);
    Exchange done{round, std::max(kSmallBytes, large_bytes), microseconds_since(part_since_), 0};
    expect(*call_in_, {PayloadKind::reply, round, large_bytes});
    call_in_->post_recv();
    send(*go_, {PayloadKind::go, round, large_bytes});
    await_send(*go_);

    if (large) done.large_round_trip_us = exchange_large(*large_in, *confirm_in, timeout);
    return done;
  });
}

void Link::idle() {
  guarded([&] {
    part_bytes_ = kSmallBytes;
    if (call_in_->wait(Half::recv, kUntilNudged)) {
      fail({model::Outcome::mismatch, Half::none, "the peer replied to nothing"});
    }
  });
}

Exchange Link::answer(Clock::time_point token_deadline, milliseconds timeout) {
  COLLWATCH_ASSERT(options_.rank == 1);
  return guarded([&] {
    part_bytes_ = kSmallBytes;
    part_since_ = part_deadline_ = token_deadline;
    await_recv(*call_in_, Half::recv);
    last_token_ = Clock::now();
    const std::uint32_t large_bytes = accept_token();
    const bool large = large_bytes > 0;
    begin_part(kSmallBytes, timeout);
    const auto go_in = incoming(PayloadKind::go, kSmallBytes);
    const auto large_in = large ? incoming(PayloadKind::large, large_bytes) : nullptr;
    const auto confirm_in = large ? incoming(PayloadKind::confirm, kSmallBytes) : nullptr;

    send(*call_out_, {PayloadKind::reply, round_, large_bytes});
    await_send(*call_out_);
    await_recv(*go_in, Half::send);
    Exchange done{round_, std::max(kSmallBytes, large_bytes), microseconds_since(part_since_), 0};
    expect(*go_in, {PayloadKind::go, round_, large_bytes});

    if (large) done.large_round_trip_us = exchange_large(*large_in, *confirm_in, timeout);
    return done;
  });
}

/// Checks the token that arrived, posts the receive for the next one, and returns the size of the
/// large payload that this one announces.
std::uint32_t Link::accept_token() {
  const auto token = read_payload(call_in_->bytes(), options_.peer_seal);
  if (!token) fail(token.error());
  const bool sized = token->large_bytes == 0 ||
                     (token->large_bytes > kSmallBytes && token->large_bytes <= kMaxLargeBytes);
  if (token->kind != PayloadKind::token || !sized) {
    fail({model::Outcome::mismatch, Half::none, "received something that is not a token"});
  }
  round_ = token->round;
  call_in_->post_recv();
  return token->large_bytes;
}

/// Returns the microseconds from our first byte to the peer's confirm.
std::int64_t Link::exchange_large(Lane& large_in, Lane& confirm_in, milliseconds timeout) {
  const auto bytes = static_cast<std::uint32_t>(large_in.bytes().size());
  begin_part(bytes, timeout);
  const auto large_out = outgoing(PayloadKind::large, bytes);
  const auto confirm_out = outgoing(PayloadKind::confirm, kSmallBytes);

  send(*large_out, {PayloadKind::large, round_, bytes});
  await_send(*large_out);
  await_recv(large_in, Half::recv);
  expect(large_in, {PayloadKind::large, round_, bytes});
  send(*confirm_out, {PayloadKind::confirm, round_, bytes});
  await_send(*confirm_out);
  await_recv(confirm_in, Half::send);
  const auto round_trip = microseconds_since(part_since_);
  expect(confirm_in, {PayloadKind::confirm, round_, bytes});
  return round_trip;
}

}  // namespace collwatch::gloo_probe
