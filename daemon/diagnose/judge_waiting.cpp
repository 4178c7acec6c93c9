// SPDX-License-Identifier: Apache-2.0
//
// Rules about ranks that waited in vain, and ranks whose peer went away: the culprit is whoever
// says neither, and where Gloo's ring shows it, the rank that both neighbours waited for.
#include <algorithm>
#include <map>

#include "daemon/diagnose/judgement.h"
#include "daemon/diagnose/numbers.h"

namespace collwatch::diagnose {
namespace {

using catalogue::Role;
using model::Confidence;
using model::Fingerprint;

bool is_wait(const Event& event) {
  return event.fingerprint == Fingerprint::gloo_collective_timeout ||
         event.fingerprint == Fingerprint::nccl_watchdog_timeout ||
         event.fingerprint == Fingerprint::straggler;
}

bool is_point_to_point(const std::string& op) {
  return op == "send" || op == "recv" || op == "isend" || op == "irecv" ||
         op == "batch_isend_irecv";
}

/// Which neighbour a rank waited for: +1 the next, -1 the one before, 0 not known. All-reduce and
/// reduce receive from the next and send to the one before; all-gather and barrier the other way.
int neighbour(const std::string& op, const std::string& direction) {
  const bool receives = direction == "recv";
  if (op.empty() || op == "backward" || op == "all_reduce" || op == "reduce" ||
      op.rfind("reduce_scatter", 0) == 0 || op == "all_reduce_coalesced") {
    return receives ? 1 : -1;
  }
  if (op.rfind("all_gather", 0) == 0 || op == "barrier" || op == "_all_gather_base")
    return receives ? -1 : 1;
  return 0;
}

struct Ring {
  std::map<int, std::set<int>> blamed_by;  ///< rank -> who waited for it
  std::optional<std::pair<int, int>>
      link;  ///< two that waited for each other, and nobody else is blamed more
  bool is_point_to_point = false;
};

Ring ring_of(const Job& job, const std::set<int>& waiting) {
  Ring ring;
  const int size = job.world.value_or(job.ranks.empty() ? 0 : job.ranks.rbegin()->first + 1);
  std::map<int, int> waits_for;
  for (const int rank : waiting) {
    const Event& event = *job.ranks.at(rank).first;
    ring.is_point_to_point = ring.is_point_to_point || is_point_to_point(event.op);
    const std::string* const direction = event.field("direction");
    if (direction == nullptr || size < 3) continue;
    const int step = neighbour(event.op, *direction);
    if (step == 0) continue;
    const int target = (rank + step + size) % size;
    waits_for[rank] = target;
    ring.blamed_by[target].insert(rank);
  }
  for (const auto& [rank, target] : waits_for) {
    const auto back = waits_for.find(target);
    if (back != waits_for.end() && back->second == rank && rank < target)
      ring.link = {rank, target};
  }
  if (ring.link) {
    for (const auto& [rank, by] : ring.blamed_by) {
      if (by.size() > 1) ring.link.reset();
    }
  }
  return ring;
}

/// The rank that the ring points at: most neighbours waited for it; silence decides between equals.
std::optional<int> pivot(const Ring& ring, const std::set<int>& waiting) {
  std::optional<int> best;
  double best_score = 0;
  bool tie = false;
  for (const auto& [rank, by] : ring.blamed_by) {
    const double score = static_cast<double>(by.size()) + (waiting.count(rank) == 0 ? 0.5 : 0.0);
    tie = best && score == best_score ? true : (score > best_score ? false : tie);
    if (score > best_score) {
      best = rank;
      best_score = score;
    }
  }
  return tie ? std::nullopt : best;
}

/// The rank that lags: its counter of work is the lowest, alone.
std::optional<int> laggard(const Job& job, const std::set<int>& waiting) {
  std::map<int, int> position;
  for (const Event* event : job.all) {
    if (!event->rank || waiting.count(*event->rank) == 0) continue;
    const auto enqueued = number(event->field("last_enqueued"));
    const auto seq = number(event->field("seq"));
    if (enqueued) {
      position[*event->rank] = *enqueued;
    } else if (seq && position.count(*event->rank) == 0) {
      position[*event->rank] = *seq;
    }
  }
  if (position.size() < 2) return std::nullopt;
  const auto lowest =
      std::min_element(position.begin(), position.end(),
                       [](const auto& a, const auto& b) { return a.second < b.second; });
  const auto same = std::count_if(position.begin(), position.end(),
                                  [&](const auto& one) { return one.second == lowest->second; });
  return same == 1 ? std::optional<int>(lowest->first) : std::nullopt;
}

std::string end_of(const Job& job, int rank) {
  const RankStory& story = job.ranks.at(rank);
  if (!story.has_log) return "no log of rank " + std::to_string(rank) + " is here";
  if (story.first == nullptr) {
    return "rank " + std::to_string(rank) + " reports nothing; its log ends at " +
           job.where(story.last) + (story.last_text.empty() ? "" : " with: " + story.last_text);
  }
  return "rank " + std::to_string(rank) +
         " reports only that its peers went away, after the others had given up (" +
         job.where(story.first->place) + ")";
}

void accuse(const Job& job, Judgement& judgement, int rank, Confidence confidence,
            const std::string& why) {
  judgement.rank = rank;
  judgement.confidence = confidence;
  judgement.host = job.ranks.at(rank).host;
  judgement.why.push_back(why);
  judgement.why.push_back(end_of(job, rank));
  if (!job.ranks.at(rank).has_log)
    judgement.missing.push_back("rank " + std::to_string(rank) + "'s own log");
}

/// Whose log to fetch when one witness is all there is.
std::string ask_beyond(const Job& job, const Event& event) {
  for (const Event* other : job.all) {
    if (const std::string* rank = other->field("ask"))
      return "rank " + *rank + "'s own log: it names the faulty rank";
  }
  std::string text = "the other ranks' logs: whoever did not report a timeout is the cause";
  const std::string* const direction = event.field("direction");
  if (direction == nullptr || is_point_to_point(event.op)) return text;
  // How many ranks there are is not known: the next one may be rank 0.
  const int step = neighbour(event.op, *direction);
  const int target = *event.rank + step;
  if (step != 0 && target >= 0)
    text += ", first rank " + std::to_string(target) + "'s, which it waits for in the ring";
  return text;
}

Judgement waiting_base(const Job& job, const std::set<int>& waiting) {
  const Event& event = *job.ranks.at(*waiting.begin()).first;
  Judgement judgement;
  judgement.fingerprint = event.fingerprint;
  judgement.event = &event;
  judgement.place = event.place;
  judgement.confidence = Confidence::low;
  judgement.why = {"rank " + in_words(waiting) + " waited in vain for the others, first " +
                   cite(job, event) + ": " + event.text};
  judgement.cause = "a collective did not finish in time";
  return judgement;
}

Judgement of_waiting(const Job& job, const std::set<int>& waiting) {
  Judgement judgement = waiting_base(job, waiting);
  const Ring ring = ring_of(job, waiting);
  std::set<int> rest;
  for (const auto& [rank, story] : job.ranks) {
    if (waiting.count(rank) == 0) rest.insert(rank);
  }
  if (ring.link && !ring.is_point_to_point) {
    const std::string link = "rank " + std::to_string(ring.link->first) + " and rank " +
                             std::to_string(ring.link->second);
    judgement.confidence = Confidence::medium;
    judgement.cause = link + " waited for each other: the link between them, or one of them";
    judgement.why.push_back(link +
                            " waited for each other although both were in the collective: look at "
                            "the network between them");
    return judgement;
  }
  const std::optional<int> center = ring.is_point_to_point ? std::nullopt : pivot(ring, waiting);
  if (center && job.ranks.count(*center) != 0) {
    const std::set<int>& by = ring.blamed_by.at(*center);
    const bool both = by.size() > 1;
    // One witness against somebody of whom nothing else is known: where to look first, no more.
    const Confidence alone = job.ranks.at(*center).has_log ? Confidence::medium : Confidence::low;
    accuse(job, judgement, *center, both ? Confidence::high : alone,
           "in the ring, rank " + in_words(by) + (both ? " both" : "") + " waited for rank " +
               std::to_string(*center));
    judgement.cause =
        "rank " + std::to_string(*center) + " did not take part in the collective in time";
    return judgement;
  }
  if (const auto behind = laggard(job, waiting); behind && rest.empty()) {
    accuse(job, judgement, *behind, Confidence::medium,
           "its counter of collectives is the lowest: rank " + std::to_string(*behind) +
               " is behind the others");
    judgement.cause = "rank " + std::to_string(*behind) + " is behind the others";
    return judgement;
  }
  if (rest.size() == 1 && !ring.is_point_to_point) {
    accuse(job, judgement, *rest.begin(), job.world ? Confidence::high : Confidence::medium,
           "rank " + in_words(rest) + " is the only one that did not wait");
    judgement.cause = "rank " + in_words(rest) + " did not take part in the collective in time";
    return judgement;
  }
  if (rest.empty() && waiting.size() == 1 && job.world.value_or(2) > 1) {
    judgement.missing.push_back(ask_beyond(job, *job.ranks.at(*waiting.begin()).first));
  } else if (rest.empty()) {
    judgement.cause = ring.is_point_to_point
                          ? "ranks wait for each other's messages"
                          : "every rank waited: a dead link, or different collectives";
    judgement.missing.push_back(
        "what each rank was doing: TORCH_DISTRIBUTED_DEBUG=DETAIL, or a stack dump of each");
  } else {
    judgement.missing.push_back("the logs of ranks " + in_words(rest) +
                                ": whoever did not wait is the cause");
  }
  return judgement;
}

}  // namespace

std::optional<Judgement> judge_waiting(const Job& job) {
  const std::set<int> waiting = ranks_where(job, [](const Event& event) { return is_wait(event); });
  if (!waiting.empty()) return of_waiting(job, waiting);
  for (const Event* event : job.unowned) {
    if (!is_wait(*event)) continue;
    Judgement judgement;
    judgement.fingerprint = event->fingerprint;
    judgement.event = event;
    judgement.place = event->place;
    judgement.confidence = Confidence::low;
    judgement.cause = "a collective did not finish in time";
    judgement.why = {cite(job, *event) + " waited in vain: " + event->text};
    const std::set<int> silent = job.silent();
    if (silent.size() == 1 && job.ranks.size() > 1) judgement.rank = *silent.begin();
    judgement.missing.push_back(
        "the other ranks' logs: whoever did not report a timeout is the cause");
    return judgement;
  }
  return std::nullopt;
}

namespace {

/// Where the rank is that was lost: not always the one that ended first, but where to begin.
std::string lost_peer(const Event& event) {
  const std::string* const ip = event.field("peer_ip");
  if (ip == nullptr || names_loopback(event)) return "";
  return " (the one that was lost first ran at " + *ip + ")";
}

}  // namespace

/// Only echoes: the culprit is whoever has none.
std::optional<Judgement> judge_peers_lost(const Job& job) {
  const Event* first = nullptr;
  for (const auto& [rank, story] : job.ranks) {
    if (story.first != nullptr && first == nullptr) first = story.first;
  }
  if (first == nullptr && !job.unowned.empty()) first = job.unowned.front();
  if (first == nullptr) return std::nullopt;
  Judgement judgement;
  judgement.fingerprint = first->fingerprint;
  judgement.event = first;
  judgement.place = first->place;
  judgement.confidence = Confidence::low;
  judgement.why = {
      cite(job, *first) +
      " reports that a peer went away, which is never the cause itself: " + first->text};
  judgement.cause = "a peer went away";
  const std::set<int> silent = job.silent();
  if (silent.size() == 1 && job.ranks.size() > 1) {
    accuse(job, judgement, *silent.begin(),
           job.ranks.at(*silent.begin()).has_log ? Confidence::high : Confidence::medium,
           "rank " + in_words(silent) + " is the only one that lost nobody");
    judgement.cause = "rank " + in_words(silent) + " ended, and the others lost it";
  } else if (silent.size() > 1) {
    judgement.missing.push_back("the logs of ranks " + in_words(silent) +
                                ": one of them ended first" + lost_peer(*first));
  } else {
    judgement.missing.push_back(
        "the other ranks' logs, and the exit codes of all processes: whoever ended first is the "
        "cause" +
        lost_peer(*first));
  }
  return judgement;
}

}  // namespace collwatch::diagnose
