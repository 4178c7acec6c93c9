// SPDX-License-Identifier: Apache-2.0
//
// A small world for attribution: nodes, directed paths, daemons and workers that can be stopped,
// killed, cut off or made to refuse, in simulated milliseconds. It produces what real agents would
// know and when (outcomes at both ends, witnesses, dials, reports that arrive only where a path is
// left, in random order) and runs the real explain() and Tracker at every node. One thread; seeded.
//
//   World world({.members = 4, .seed = 1});
//   world.at(10'300, [](World& w) { w.cut_node(2); });
//   world.run_until(20'000);
//   for (const Seen& s : world.seen()) ...            // every change of any agent's verdicts
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <queue>
#include <random>
#include <string>
#include <vector>

#include "daemon/attribute/explain.h"
#include "daemon/state/tracker.h"

namespace collwatch::tests {

using attribute::Member;
using Ms = std::int64_t;

struct WorldOptions {
  std::uint32_t members = 4;
  std::uint32_t seed = 1;
  bool witness = true;           ///< false: no datagram ever arrives, reports go over TCP
  bool own_worker_words = true;  ///< a daemon marks its edges when its own worker fails
};

/// An agent's verdicts from `at` until its next entry.
struct Seen {
  Ms at = 0;
  Member agent = 0;
  std::vector<exporters::Verdict> verdicts;
};

class World {
 public:
  explicit World(const WorldOptions& options);

  void at(Ms when, std::function<void(World&)> action);
  void run_until(Ms when);

  // What can happen to it; each takes effect at the present time.
  void cut(Member from, Member to, bool dead = true);  ///< one direction
  void cut_link(Member a, Member b, bool dead = true);
  void cut_egress(Member n, bool dead = true);
  void cut_ingress(Member n, bool dead = true);
  void cut_node(Member n, bool dead = true);
  void cut_between(const std::vector<Member>& side, bool dead = true);  ///< it and all others
  void swallow_large(Member n, bool swallowing = true);
  void corrupt(Member n, bool corrupting = true);  ///< wrong bytes in whatever it sends
  void refuse(Member n, bool refusing = true);
  void kill(Member n);
  void start(Member n);  ///< after kill or leave
  void kill_worker(Member n);
  void stop_worker(Member n);
  void stop(Member n);
  void resume(Member n);
  void leave(Member n);
  void fail_once(Member a, Member b);  ///< the next exchange of this pair fails, at both ends
  void stall(Member n, Ms how_long);   ///< its worker does nothing for so long
  void set_health(Member n, int score) { nodes_[n].health = score; }

  const std::vector<std::string>& names() const { return names_; }
  const std::vector<Seen>& seen() const { return seen_; }
  const std::vector<exporters::Event>& events(Member agent) const { return nodes_[agent].events; }
  Ms now() const { return now_; }

 private:
  enum class Worker { running, absent, stopped };
  struct Node {
    bool daemon = true;
    bool frozen = false;
    bool refusing = false;
    bool small_only = false;
    bool corrupting = false;
    Worker worker = Worker::running;
    Ms worker_busy_until = 0;
    Ms skew = 0;
    Ms datagram_phase = 0;
    int health = 0;
    std::map<Member, attribute::EdgeWord> words;
    std::map<Member, Ms> fail_began;
    std::map<Member, Ms> heard_at;
    std::map<Member, attribute::ObserverReport> reports;
    std::map<Member, bool> expected;
    std::unique_ptr<state::Tracker> tracker;
    std::vector<exporters::Verdict> last;
    std::vector<exporters::Event> events;
  };
  struct Planned {
    Ms when;
    std::uint64_t order;
    std::function<void()> action;
    bool operator>(const Planned& other) const {
      return when != other.when ? when > other.when : order > other.order;
    }
  };

  void plan(Ms when, std::function<void()> action);
  Ms random(Ms low, Ms high);  ///< inclusive
  bool alive(Member n) const { return nodes_[n].daemon && !nodes_[n].frozen; }
  bool worker_runs(Member n) const;
  bool path(Member a, Member b) const { return reach_[a][b] && reach_[b][a]; }
  std::int64_t round_of(Member n) const { return (now_ + nodes_[n].skew) / 1000; }
  void forget(Member n);

  void begin_round(std::int64_t round);
  void exchange(Member a, Member b, std::int64_t round);
  void fail_open_edge(Member a, Member b, std::int64_t round);
  bool fails_by_content(Member a, Member b, std::int64_t round);
  void retry_edge(Member a, Member b, std::int64_t round);
  void lost_at_peers(Member n);
  void own_worker_failed(Member n, model::Outcome outcome);
  void record_ok(Member observer, Member peer, std::int64_t round);
  void record_failure(Member observer, Member peer, std::int64_t round, model::Outcome outcome,
                      Ms began);
  void dial(Member observer, Member peer);
  void answer_dial(Member observer, Member peer, Ms delay, model::Reason reason);
  void send_reports(Member from);
  attribute::ObserverReport report_of(Member n) const;
  void evaluate(Member n);

  WorldOptions options_;
  std::vector<std::string> names_;
  std::vector<Node> nodes_;
  std::vector<std::vector<bool>> reach_;
  std::map<std::pair<Member, Member>, bool> open_;  ///< by ordered pair of ends
  std::map<std::pair<Member, Member>, bool> fail_next_;
  std::map<std::pair<Member, Member>, bool> missed_attempt_;
  std::map<std::pair<Member, Member>, bool> failed_size_;  ///< is tried again first
  std::priority_queue<Planned, std::vector<Planned>, std::greater<>> queue_;
  std::mt19937 generator_;
  std::vector<Seen> seen_;
  Ms now_ = 0;
  std::uint64_t order_ = 0;
};

}  // namespace collwatch::tests
