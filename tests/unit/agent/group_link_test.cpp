// SPDX-License-Identifier: Apache-2.0
//
// How large a group's collectives may be: both ends of the conversation are played by the test, at
// the agent that hosts the meeting.
#include "daemon/agent/group_link.h"

#include <sys/socket.h>

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "tests/support/catch.h"

namespace {

using namespace collwatch;
using model::Outcome;

/// Agent "a", the lower name of two; "b" and the worker are the test's.
class Host {
 public:
  Host() : around_(*loop_, config()), link_(around_, "incarnation", handlers()) {
    around_.to_worker = [this](const wire::ToWorker& message) {
      sent_.push_back(message);
      return true;
    };
    around_.worker_running = [] { return true; };
    around_.identity = [] { return peer::Identity{}; };
    around_.next_number = [this] { return ++number_; };
    around_.address = [](const std::string&) {
      return std::optional(peer::resolve({"127.0.0.1", 9}, AF_UNSPEC).value());
    };
    around_.round = [this] { return round_; };
    around_.any_path_weak = [this] { return weak_; };
  }

  /// One meeting in that round up to the run: the size that is run, of each collective.
  std::uint32_t size_in(std::int64_t round) {
    round_ = round;
    sent_.clear();
    link_.on_round(round, {"a", "b"}, "view");
    fixed_ = std::get<peer::GroupFixed>(from_b(peer::MeetGroup{"view", held_}));
    if (held_ != fixed_.context_id) {
      held_ = fixed_.context_id;
      const auto prepare = std::get<wire::GroupPrepare>(sent_.back());
      attempt_ = prepare.attempt;
      link_.on_prepared({attempt_, {'x'}});
      from_b(peer::MeetGroupBlob{held_, {'y'}});
      wire::CollectiveReport connected;
      connected.attempt = attempt_;
      connected.phase = model::Phase::connect;
      link_.on_report(connected);
    }
    const auto run = std::get<wire::GroupRun>(sent_.back());
    for (const wire::CollectiveStep& step : run.steps) {
      CHECK(step.size_bytes == run.steps.front().size_bytes);
    }
    return run.steps.front().size_bytes;
  }

  /// All collectives of the run end so; the first failure ends it.
  void ends(Outcome outcome) {
    for (int i = 0; i < 5; ++i) {
      wire::CollectiveReport report;
      report.attempt = attempt_;
      report.outcome = outcome;
      link_.on_report(report);
    }
    if (outcome != Outcome::ok) held_.clear();
  }

  bool said_gentle() const { return fixed_.gentle; }
  void make_weak(bool weak) { weak_ = weak; }

 private:
  static const config::Config& config() {
    static const config::Config made = [] {
      config::Config one;
      one.node = "a";
      return one;
    }();
    return made;
  }
  static agent::GroupLink::Handlers handlers() {
    return {[](const auto&) {}, [](Outcome, double) {}, [](model::SkipReason) {},
            [](const auto&, const wire::GroupAccusations&) {}};
  }

  decltype(peer::Reply::body) from_b(decltype(peer::Request::body) body) {
    peer::Request request;
    request.from.name = "b";
    request.body = std::move(body);
    std::optional<peer::Reply> answer;
    link_.on_request(request, {}, [&answer](const peer::Reply& reply) { answer = reply; });
    REQUIRE(answer);
    return answer->body;
  }

  std::unique_ptr<base::EventLoop> loop_ = base::EventLoop::create().value();
  std::int64_t round_ = 0;
  std::uint64_t number_ = 0;
  std::uint64_t attempt_ = 0;
  bool weak_ = false;
  std::string held_;  ///< the context that "b" still has
  peer::GroupFixed fixed_;
  std::vector<wire::ToWorker> sent_;
  agent::PeerLinkSurroundings around_;
  agent::GroupLink link_;
};

constexpr std::uint32_t kSmall = 4;
constexpr std::uint32_t kLarge = 1048576;

}  // namespace

TEST_CASE("sizes take turns while all is well") {
  Host host;
  for (const auto& [round, size] : {std::pair{10, kLarge}, {20, kSmall}, {30, kLarge}}) {
    CHECK(host.size_in(round) == size);
    CHECK_FALSE(host.said_gentle());
    host.ends(Outcome::ok);
  }
}

TEST_CASE("a weak path is not filled by the probe") {
  Host host;
  host.make_weak(true);
  CHECK(host.size_in(10) == kSmall);
  CHECK(host.said_gentle());
  host.ends(Outcome::ok);
  host.make_weak(false);
  CHECK(host.size_in(30) == kLarge);
}

TEST_CASE("after a large run failed the next ones stay small, for longer each time") {
  Host host;
  CHECK(host.size_in(10) == kLarge);
  host.ends(Outcome::timeout);
  for (const int round : {11, 30, 50}) {
    CHECK(host.size_in(round) == kSmall);
    host.ends(Outcome::ok);
  }
  CHECK(host.size_in(70) == kLarge);
  host.ends(Outcome::timeout);
  for (int run = 0; run < 6; ++run) {
    CHECK(host.size_in(90 + 20 * run) == kSmall);
    host.ends(Outcome::ok);
  }
  CHECK(host.size_in(210) == kLarge);
  host.ends(Outcome::ok);
  CHECK(host.size_in(230) == kLarge);
  host.ends(Outcome::timeout);
  for (int run = 0; run < 3; ++run) {  // a good one forgives
    CHECK(host.size_in(250 + 20 * run) == kSmall);
    host.ends(Outcome::ok);
  }
  CHECK(host.size_in(310) == kLarge);
}

TEST_CASE("a small run that fails says nothing about large ones") {
  Host host;
  CHECK(host.size_in(20) == kSmall);
  host.ends(Outcome::peer_lost);
  CHECK(host.size_in(30) == kLarge);
}
