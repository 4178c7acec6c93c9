// SPDX-License-Identifier: Apache-2.0
//
// One poll loop over the channel, the signal descriptor and a timer.
#include "probes/gloo/control.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "probes/gloo/build_id.h"
#include "probes/gloo/collectives.h"

namespace collwatch::gloo_probe {
namespace {

/// Measured: at 10 ms it was a third of what an idle worker costs.
constexpr milliseconds kTick{50};
// Shorter than the daemon's patience between SIGTERM and SIGKILL (200 ms).
constexpr milliseconds kLeaveGrace{150};
constexpr int kMaxTimeoutMs = 10 * 60 * 1000;

bool sensible(int timeout_ms) {
  return timeout_ms > 0 && timeout_ms <= kMaxTimeoutMs;
}

timespec to_timespec(std::chrono::nanoseconds time) {
  const auto seconds = std::chrono::floor<std::chrono::seconds>(time);
  return {static_cast<time_t>(seconds.count()), static_cast<long>((time - seconds).count())};
}

}  // namespace

Control::Control(const wire::Channel& channel, int stop_fd)
    : channel_(channel),
      stop_fd_(stop_fd),
      reporter_(channel),
      around_{reporter_, devices_, "", build_id()},
      next_tick_(Clock::now() + kTick) {}

ExitCode Control::run() {
  for (;;) {
    std::array<pollfd, 2> fds{{{channel_.fd(), POLLIN, 0}, {stop_fd_, POLLIN, 0}}};
    const timespec wait =
        to_timespec(std::max<Clock::duration>(next_tick_ - Clock::now(), Clock::duration::zero()));
    if (::ppoll(fds.data(), fds.size(), &wait, nullptr) < 0 && errno != EINTR) return kExitBug;
    tick(Clock::now());
    const Next next = fds[1].revents != 0   ? Next::leave
                      : fds[0].revents != 0 ? receive()
                                            : Next::go_on;
    if (next == Next::go_on) continue;
    leave();
    return next == Next::leave ? kExitStopped : kExitBadRequest;
  }
}

void Control::tick(Clock::time_point now) {
  if (now < next_tick_) return;
  worst_late_ = std::max(worst_late_, now - next_tick_);
  next_tick_ = now + kTick;
  for (const auto& [peer, edge] : edges_) edge->tick(now);
  if (group_) group_->tick(now);
  reap();
}

Control::Next Control::receive() {
  wire::Received received = channel_.receive();
  switch (received.status) {
    case wire::ReceiveStatus::packet:
      return handle(received.packet);
    case wire::ReceiveStatus::would_block:
      return Next::go_on;
    case wire::ReceiveStatus::closed:
      return Next::leave;
    case wire::ReceiveStatus::too_big:
      return refuse("a request was longer than 64 KiB");
    case wire::ReceiveStatus::failed:
      return refuse("the channel cannot be read");
  }
  return Next::leave;
}

Control::Next Control::handle(const std::string& packet) {
  const auto message = wire::decode_to_worker(packet);
  if (!message) return refuse(message.error().text);
  if (!started_ && !std::holds_alternative<wire::Start>(*message)) {
    return refuse("the first request must be start");
  }
  return std::visit([this](const auto& request) { return on(request); }, *message);
}

Control::Next Control::refuse(const std::string& why) {
  reporter_.send(wire::WorkerError{"unusable request: " + why});
  return Next::bad_request;
}

// --- requests ---------------------------------------------------------------------------------

Control::Next Control::on(const wire::Start& start) {
  if (started_) return refuse("a second start");
  if (start.v != wire::kProtocolVersion) {
    return refuse("protocol version " + std::to_string(start.v) + ", this worker speaks " +
                  std::to_string(wire::kProtocolVersion));
  }
  started_ = true;
  around_.node = start.node;
  reporter_.send(wire::Hello{wire::kProtocolVersion, "gloo", around_.build, ::getpid()});
  return Next::go_on;
}

Control::Next Control::on(const wire::EdgePrepare& prepare) {
  if (prepare.peer.empty() || prepare.rank < 0 || prepare.rank > 1 ||
      !sensible(prepare.timeout_ms) || !sensible(prepare.interval_ms)) {
    return refuse("edge_prepare is out of range");
  }
  auto& edge = edges_[prepare.peer];
  retire(std::move(edge));
  edge = std::make_unique<Edge>(around_, prepare);
  return Next::go_on;
}

Control::Next Control::on(const wire::EdgeConnect& connect) {
  const auto edge = edges_.find(connect.peer);
  // Another attempt's address is late, not wrong.
  if (edge != edges_.end() && edge->second->attempt() == connect.attempt) {
    edge->second->connect(connect);
  }
  return Next::go_on;
}

Control::Next Control::on(const wire::EdgeClose& close) {
  if (close.peer.empty()) {
    close_all();
    return Next::go_on;
  }
  const auto edge = edges_.find(close.peer);
  if (edge != edges_.end()) {
    retire(std::move(edge->second));
    edges_.erase(edge);
  }
  return Next::go_on;
}

Control::Next Control::on(const wire::Round& round) {
  const auto late = std::chrono::duration_cast<std::chrono::microseconds>(worst_late_);
  reporter_.send(wire::RoundAck{round.number, late.count()});
  worst_late_ = {};
  if (!sensible(round.timeout_ms)) return refuse("round is out of range");

  std::map<std::string_view, std::uint32_t> large;
  for (const wire::LargePayload& payload : round.large) {
    if (payload.bytes > kMaxLargeBytes) return refuse("a large payload is out of range");
    if (payload.bytes > kSmallBytes) large[payload.peer] = payload.bytes;
  }
  for (const auto& [peer, edge] : edges_) {
    const auto found = large.find(peer);
    edge->round(round.number, round.timeout_ms, found == large.end() ? 0 : found->second);
  }
  return Next::go_on;
}

Control::Next Control::on(const wire::GroupPrepare& prepare) {
  if (prepare.size < 2 || prepare.size > kMaxGroupSize || prepare.rank < 0 ||
      prepare.rank >= prepare.size || !sensible(prepare.timeout_ms)) {
    return refuse("group_prepare is out of range");
  }
  retire(std::move(group_));
  group_ = std::make_unique<Group>(around_, prepare);
  return Next::go_on;
}

Control::Next Control::on(const wire::GroupConnect& connect) {
  if (group_ && group_->attempt() == connect.attempt) group_->connect(connect);
  return Next::go_on;
}

Control::Next Control::on(const wire::GroupRun& run) {
  const bool too_big = std::ranges::any_of(run.steps, [](const wire::CollectiveStep& step) {
    return step.size_bytes > kMaxCollectiveBytes;
  });
  if (too_big || !sensible(run.timeout_ms)) return refuse("group_run is out of range");
  if (group_ && group_->attempt() == run.attempt) group_->run(run);
  return Next::go_on;
}

Control::Next Control::on(const wire::GroupClose&) {
  retire(std::move(group_));
  return Next::go_on;
}

Control::Next Control::on(const wire::Stop&) {
  return Next::leave;
}

// --- endings ----------------------------------------------------------------------------------

void Control::retire(std::unique_ptr<Edge> edge) {
  if (!edge) return;
  edge->cancel();
  retired_edges_.push_back(std::move(edge));
}

void Control::retire(std::unique_ptr<Group> group) {
  if (!group) return;
  group->cancel();
  retired_groups_.push_back(std::move(group));
}

void Control::close_all() {
  for (auto& [peer, edge] : edges_) retire(std::move(edge));
  edges_.clear();
  retire(std::move(group_));
}

/// Joins the retired whose threads have ended; true if none is left.
bool Control::reap() {
  std::erase_if(retired_edges_, [](const auto& edge) { return edge->over(); });
  std::erase_if(retired_groups_, [](const auto& group) { return group->over(); });
  return retired_edges_.empty() && retired_groups_.empty();
}

void Control::leave() {
  close_all();
  const auto deadline = Clock::now() + kLeaveGrace;
  while (!reap()) {
    if (Clock::now() >= deadline) ::_exit(kExitStopped);
    ::poll(nullptr, 0, 1);
  }
}

}  // namespace collwatch::gloo_probe
