// SPDX-License-Identifier: Apache-2.0
//
// What can happen to the world of evidence_world.h, and what is felt at once.
#include <algorithm>
#include <utility>

#include "daemon/attribute/local_health.h"
#include "tests/support/evidence_world.h"

namespace collwatch::tests {

using model::Outcome;

namespace {
constexpr Ms kStuckSeenAfter = 700;  ///< the round acknowledgement does not come
constexpr Ms kStuckAfter = 2200;     ///< a worker that acknowledges nothing is killed
constexpr Ms kRespawnAfter = 250;
}  // namespace

void World::cut(Member from, Member to, bool dead) {
  reach_[from][to] = !dead;
}

void World::cut_link(Member a, Member b, bool dead) {
  cut(a, b, dead);
  cut(b, a, dead);
}

void World::cut_egress(Member n, bool dead) {
  for (Member p = 0; p < options_.members; ++p) {
    if (p != n) cut(n, p, dead);
  }
}

void World::cut_ingress(Member n, bool dead) {
  for (Member p = 0; p < options_.members; ++p) {
    if (p != n) cut(p, n, dead);
  }
}

void World::cut_node(Member n, bool dead) {
  cut_egress(n, dead);
  cut_ingress(n, dead);
}

void World::cut_between(const std::vector<Member>& side, bool dead) {
  const auto here = [&side](Member m) {
    return std::find(side.begin(), side.end(), m) != side.end();
  };
  for (Member a = 0; a < options_.members; ++a) {
    for (Member b = 0; b < a; ++b) {
      if (here(a) != here(b)) cut_link(a, b, dead);
    }
  }
}

void World::swallow_large(Member n, bool swallowing) {
  nodes_[n].small_only = swallowing;
}

void World::corrupt(Member n, bool corrupting) {
  nodes_[n].corrupting = corrupting;
}

void World::refuse(Member n, bool refusing) {
  nodes_[n].refusing = refusing;
}

void World::kill(Member n) {
  nodes_[n].daemon = false;
  nodes_[n].worker = Worker::absent;
  lost_at_peers(n);
}

void World::start(Member n) {
  nodes_[n].daemon = true;
  nodes_[n].worker = Worker::running;
  nodes_[n].worker_busy_until = now_ + random(100, 600);
  forget(n);
}

void World::kill_worker(Member n) {
  nodes_[n].worker = Worker::absent;
  lost_at_peers(n);
  own_worker_failed(n, Outcome::worker_crash);
  plan(now_ + kRespawnAfter, [this, n] {
    if (nodes_[n].worker == Worker::absent && nodes_[n].daemon) nodes_[n].worker = Worker::running;
  });
}

void World::stop_worker(Member n) {
  nodes_[n].worker = Worker::stopped;
  plan(now_ + kStuckSeenAfter, [this, n] {
    if (nodes_[n].worker == Worker::stopped) own_worker_failed(n, Outcome::worker_stuck);
  });
  plan(now_ + kStuckAfter, [this, n] {
    if (nodes_[n].worker != Worker::stopped) return;
    nodes_[n].worker = Worker::absent;
    plan(now_ + kRespawnAfter, [this, n] { nodes_[n].worker = Worker::running; });
  });
}

void World::stop(Member n) {
  nodes_[n].frozen = true;
}

void World::resume(Member n) {
  nodes_[n].frozen = false;
  nodes_[n].health = attribute::kWorstHealth;
}

void World::leave(Member n) {
  for (Member p = 0; p < options_.members; ++p) {
    if (p == n || !reach_[n][p]) continue;
    plan(now_ + random(1, 3), [this, n, p] {
      nodes_[p].expected[n] = false;
      nodes_[p].words.erase(n);
      nodes_[p].reports.erase(n);
      evaluate(p);
    });
    open_[std::minmax(n, p)] = false;
  }
  nodes_[n].daemon = false;
  nodes_[n].worker = Worker::absent;
}

void World::fail_once(Member a, Member b) {
  fail_next_[std::minmax(a, b)] = true;
}

void World::stall(Member n, Ms how_long) {
  nodes_[n].worker_busy_until = now_ + how_long;
}

/// A process that dies closes its sockets: whoever is reached loses its edge at once.
void World::lost_at_peers(Member n) {
  for (Member p = 0; p < options_.members; ++p) {
    if (p == n || !open_[std::minmax(n, p)]) continue;
    open_[std::minmax(n, p)] = false;
    if (!reach_[n][p]) continue;
    const Ms began = now_;
    plan(now_ + random(1, 6), [this, n, p, began] {
      if (worker_runs(p)) record_failure(p, n, round_of(p), Outcome::peer_lost, began);
    });
  }
}

void World::own_worker_failed(Member n, Outcome outcome) {
  if (!options_.own_worker_words || !alive(n)) return;
  for (Member p = 0; p < options_.members; ++p) {
    if (p != n && nodes_[n].words.count(p) != 0) {
      record_failure(n, p, round_of(n), outcome, now_);
    }
  }
}

}  // namespace collwatch::tests
