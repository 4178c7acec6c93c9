// SPDX-License-Identifier: Apache-2.0
//
// See evidence_world.h. Numbers follow the agent's design: rounds of 1 s, exchanges within the
// first 40 ms, edge timeout 500 ms, dial 300 ms, two datagrams a round, first failures told at
// once.
#include "tests/support/evidence_world.h"

#include <algorithm>
#include <utility>

namespace collwatch::tests {

using attribute::EdgeState;
using attribute::EdgeWord;
using attribute::ObserverReport;
using model::Outcome;
using model::Reason;

namespace {
constexpr Ms kTimeout = 500;
constexpr Ms kDialTimeout = 300;
}  // namespace

World::World(const WorldOptions& options) : options_(options), generator_(options.seed) {
  const std::uint32_t n = options.members;
  reach_.assign(n, std::vector<bool>(n, true));
  for (Member m = 0; m < n; ++m) names_.push_back("n" + std::to_string(m));
  nodes_.resize(n);
  for (Member m = 0; m < n; ++m) {
    nodes_[m].skew = random(-15, 15);
    nodes_[m].datagram_phase = random(0, 490);
    forget(m);
    for (Member p = 0; p < n; ++p) {
      if (p != m) nodes_[m].expected[p] = false;
    }
    nodes_[m].expected[m] = true;
    for (Member p = 0; p < m; ++p) open_[{p, m}] = false;
  }
  plan(0, [this] { begin_round(0); });
}

void World::forget(Member n) {
  Node& node = nodes_[n];
  node.words.clear();
  node.fail_began.clear();
  node.heard_at.clear();
  node.reports.clear();
  node.expected.clear();
  node.expected[n] = true;
  node.health = 0;
  node.last.clear();
  node.tracker =
      std::make_unique<state::Tracker>(names_, state::page_threshold(options_.members, 1.0));
}

Ms World::random(Ms low, Ms high) {
  return std::uniform_int_distribution<Ms>(low, high)(generator_);
}

void World::plan(Ms when, std::function<void()> action) {
  queue_.push({when, order_++, std::move(action)});
}

void World::at(Ms when, std::function<void(World&)> action) {
  plan(when, [this, action = std::move(action)] { action(*this); });
}

void World::run_until(Ms when) {
  while (!queue_.empty() && queue_.top().when <= when) {
    const Planned next = queue_.top();
    queue_.pop();
    now_ = next.when;
    next.action();
  }
  now_ = when;
}

bool World::worker_runs(Member n) const {
  return nodes_[n].daemon && !nodes_[n].frozen && nodes_[n].worker == Worker::running &&
         now_ >= nodes_[n].worker_busy_until;
}

// --- rounds -----------------------------------------------------------------------------------

void World::begin_round(std::int64_t round) {
  const Ms start = round * 1000;
  plan(start + 1000, [this, round] { begin_round(round + 1); });
  for (Member n = 0; n < options_.members; ++n) {
    nodes_[n].health = std::max(0, nodes_[n].health - 1);
    plan(start + 15 - nodes_[n].skew, [this, n] { evaluate(n); });
    for (const Ms half : {0, 500}) {
      plan(start + half + nodes_[n].datagram_phase, [this, n] { send_reports(n); });
    }
    for (Member p = 0; p < n; ++p) {
      plan(start + random(15, 40), [this, p, n, round] { exchange(p, n, round); });
    }
  }
}

void World::exchange(Member a, Member b, std::int64_t round) {
  const bool once = std::exchange(fail_next_[{a, b}], false);
  const bool good = !once && worker_runs(a) && worker_runs(b) && path(a, b) &&
                    !nodes_[a].refusing && !nodes_[b].refusing;
  const bool was_open = open_[{a, b}];
  if (good && fails_by_content(a, b, round)) return;
  if (!good) {
    open_[{a, b}] = false;
    was_open ? fail_open_edge(a, b, round) : retry_edge(a, b, round);
    return;
  }
  // A reconnect goes through at once, or only in the next round.
  bool& missed = missed_attempt_[{a, b}];
  if (!was_open && !missed && random(0, 9) < 3) {
    missed = true;
    return;
  }
  missed = false;
  open_[{a, b}] = true;
  for (const auto& [o, p] : {std::pair{a, b}, std::pair{b, a}}) {
    const Member observer = o;
    const Member peer = p;
    plan(now_ + (was_open ? 1 : 15), [this, observer, peer, round] {
      if (alive(observer)) record_ok(observer, peer, round);
    });
  }
}

/// The path works but swallows what is large, or an end sends wrong bytes: true if that was this
/// exchange's end. An edge that failed so opens again, and stays failing until the size has passed.
bool World::fails_by_content(Member a, Member b, std::int64_t round) {
  const auto tell = [this, round](Member observer, Member peer, Ms delay, Outcome outcome,
                                  std::optional<Reason> reason) {
    const Ms began = now_;
    plan(now_ + delay, [=, this] {
      if (!worker_runs(observer)) return;
      if (reason) nodes_[observer].words[peer].reason = reason;
      record_failure(observer, peer, round, outcome, began);
    });
  };
  if (nodes_[a].corrupting || nodes_[b].corrupting) {
    open_[{a, b}] = false;
    const Member liar = nodes_[a].corrupting ? a : b;
    const Member other = liar == a ? b : a;
    tell(other, liar, 1, Outcome::data_corruption, Reason::data_corruption);
    tell(liar, other, 2, Outcome::peer_lost, std::nullopt);
    return true;
  }
  bool& again = failed_size_[{a, b}];
  if (!nodes_[a].small_only && !nodes_[b].small_only) {
    again = false;
    return false;
  }
  if (!open_[{a, b}]) {
    open_[{a, b}] = true;
    return again;
  }
  if (!again && (round + a + b) % 3 == 0) return false;
  again = true;
  open_[{a, b}] = false;
  tell(a, b, kTimeout + random(0, 20), Outcome::timeout, Reason::size_blackhole);
  tell(b, a, kTimeout + random(0, 20), Outcome::timeout, Reason::size_blackhole);
  return true;
}

/// Both ends wait in vain; where the first to give up can still reach the other, that one may see a
/// closed connection instead.
void World::fail_open_edge(Member a, Member b, std::int64_t round) {
  const Ms began = now_;
  const Ms at_a = now_ + kTimeout + random(0, 20);
  const Ms at_b = now_ + kTimeout + random(0, 20);
  const Member first = at_a <= at_b ? a : b;
  const bool reset = nodes_[a].refusing || nodes_[b].refusing;
  for (const auto& [o, p] : {std::pair{a, b}, std::pair{b, a}}) {
    const Member observer = o;
    const Member peer = p;
    const bool closed = observer != first && reach_[first][observer] && random(0, 1) == 1;
    const Outcome outcome = closed || reset ? Outcome::peer_lost : Outcome::timeout;
    const Ms when = reset ? now_ + 2 : observer == a ? at_a : at_b;
    plan(when, [this, observer, peer, round, outcome, began] {
      if (worker_runs(observer)) record_failure(observer, peer, round, outcome, began);
    });
  }
}

void World::retry_edge(Member a, Member b, std::int64_t round) {
  for (const auto& [o, p] : {std::pair{a, b}, std::pair{b, a}}) {
    const Member observer = o;
    const Member peer = p;
    if (!worker_runs(observer) || nodes_[observer].expected[peer] == false) continue;
    if (nodes_[observer].words.count(peer) == 0) continue;  // never was: joining
    Outcome outcome = Outcome::timeout;
    Ms delay = kDialTimeout + random(0, 200);
    if (!path(a, b)) {
      outcome = Outcome::unreachable;
    } else if (!nodes_[peer].daemon || nodes_[peer].refusing) {
      outcome = Outcome::refused;
      delay = 3;
    }
    const Ms began = now_;
    plan(now_ + delay, [this, observer, peer, round, outcome, began] {
      if (worker_runs(observer) && nodes_[observer].words.count(peer) != 0) {
        record_failure(observer, peer, round, outcome, began);
      }
    });
  }
}

void World::record_ok(Member observer, Member peer, std::int64_t round) {
  Node& node = nodes_[observer];
  node.expected[peer] = true;
  EdgeWord& word = node.words[peer];
  const bool was_failing = word.state == EdgeState::failing;
  word.peer = peer;
  word.ok_rounds = was_failing ? 1 : word.ok_rounds + (round > word.round ? 1 : 0);
  word.state = EdgeState::ok;
  word.outcome = Outcome::ok;
  word.round = round;
  word.failing_since = 0;
  word.failed_rounds = 0;
  word.reason.reset();
  if (was_failing) evaluate(observer);
}

void World::record_failure(Member observer, Member peer, std::int64_t round, Outcome outcome,
                           Ms began) {
  Node& node = nodes_[observer];
  EdgeWord& word = node.words[peer];
  const bool first = word.state != EdgeState::failing;
  if (first) {
    word.failing_since = round;
    word.failed_rounds = 0;
    word.ok_rounds = 0;
    node.fail_began[peer] = began;
  }
  if (first || round > word.round) ++word.failed_rounds;
  word.peer = peer;
  word.state = EdgeState::failing;
  word.outcome = outcome;
  word.round = std::max(round, word.round);
  dial(observer, peer);
  if (first) send_reports(observer);
  evaluate(observer);
}

// --- what is asked and said -------------------------------------------------------------------

void World::dial(Member observer, Member peer) {
  const Node& other = nodes_[peer];
  if (!path(observer, peer)) return answer_dial(observer, peer, kDialTimeout, Reason::unreachable);
  const auto heard = nodes_[observer].heard_at.find(peer);
  const bool fresh =
      heard != nodes_[observer].heard_at.end() && now_ - heard->second < 1100 && options_.witness;
  // The refusing side resets what comes in: also the answers to its own dials.
  if (nodes_[observer].refusing) {
    return answer_dial(observer, peer, kDialTimeout, Reason::unreachable);
  }
  if (!other.daemon || other.refusing) {
    return answer_dial(observer, peer, 2, fresh ? Reason::refused : Reason::agent_down);
  }
  if (other.frozen) return answer_dial(observer, peer, kDialTimeout, Reason::host_stall);
  if (other.worker == Worker::absent) return answer_dial(observer, peer, 3, Reason::worker_crash);
  if (other.worker == Worker::stopped) return answer_dial(observer, peer, 3, Reason::worker_stuck);
}

void World::answer_dial(Member observer, Member peer, Ms delay, Reason reason) {
  plan(now_ + delay, [this, observer, peer, reason] {
    if (!alive(observer)) return;
    EdgeWord& word = nodes_[observer].words[peer];
    if (word.state != EdgeState::failing || word.reason == reason) return;
    const bool first = !word.reason;
    word.reason = reason;
    if (first) send_reports(observer);
    evaluate(observer);
  });
}

ObserverReport World::report_of(Member n) const {
  const Node& node = nodes_[n];
  ObserverReport report;
  report.observer = n;
  report.round = round_of(n);
  report.local_health = node.health;
  bool any_ok = false;
  for (const auto& [peer, word] : node.words) {
    EdgeWord copy = word;
    copy.peer = peer;
    const auto heard = node.heard_at.find(peer);
    const Ms age = heard == node.heard_at.end() ? -1 : now_ - heard->second;
    const auto began = node.fail_began.find(peer);
    const bool failing = word.state == EdgeState::failing;
    const Ms failing_for = failing && began != node.fail_began.end() ? now_ - began->second : -1;
    copy.inbound = attribute::hearing(options_.witness ? age : -1, failing_for, 1000);
    any_ok = any_ok || word.state == EdgeState::ok;
    report.edges.push_back(copy);
  }
  report.cut_off = !any_ok;
  return report;
}

void World::send_reports(Member from) {
  if (!alive(from)) return;
  const ObserverReport report = report_of(from);
  for (Member to = 0; to < options_.members; ++to) {
    if (to == from || !reach_[from][to]) continue;
    // Without datagrams reports need a connection, hence both directions.
    if (!options_.witness && !reach_[to][from]) continue;
    plan(now_ + random(1, 4), [this, from, to, report] {
      if (!alive(to)) return;
      Node& node = nodes_[to];
      node.heard_at[from] = now_;
      ObserverReport& kept = node.reports[from];
      if (kept.round <= report.round) kept = report;
      evaluate(to);
    });
  }
}

void World::evaluate(Member n) {
  if (!alive(n)) return;
  Node& node = nodes_[n];
  attribute::Evidence evidence;
  evidence.self = n;
  evidence.members = options_.members;
  evidence.round = round_of(n);
  for (Member m = 0; m < options_.members; ++m) evidence.expected.push_back(node.expected[m]);
  evidence.reports.push_back(report_of(n));
  for (const auto& [from, report] : node.reports) {
    if (evidence.round - report.round <= 2) evidence.reports.push_back(report);
  }
  attribute::Parameters parameters;
  parameters.standing = node.tracker->standing();
  const auto explanations = attribute::explain(evidence, parameters);
  const state::Moment moment{evidence.round, static_cast<double>(now_) / 1000.0,
                             exporters::WallTime(std::chrono::milliseconds(now_))};
  state::Step step = node.tracker->update(moment, evidence, explanations, {});
  node.events.insert(node.events.end(), step.events.begin(), step.events.end());
  const auto same = [](const exporters::Verdict& x, const exporters::Verdict& y) {
    return x.kind == y.kind && x.entity == y.entity && x.reason == y.reason && x.state == y.state &&
           x.fingerprint == y.fingerprint && x.view == y.view;
  };
  const bool changed =
      step.verdicts.size() != node.last.size() ||
      !std::equal(step.verdicts.begin(), step.verdicts.end(), node.last.begin(), same);
  if (!changed) return;
  node.last = step.verdicts;
  seen_.push_back({now_, n, std::move(step.verdicts)});
}

}  // namespace collwatch::tests
