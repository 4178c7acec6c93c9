// SPDX-License-Identifier: Apache-2.0
//
// Rules about ranks that do not do the same thing, or of which one is named by the others.
#include <algorithm>
#include <map>

#include "daemon/diagnose/judgement.h"
#include "daemon/diagnose/numbers.h"

namespace collwatch::diagnose {
namespace {

using catalogue::Role;
using model::Confidence;
using model::Fingerprint;

/// The ranks that are not of the majority's opinion; empty where there is no majority.
std::set<int> minority(const std::map<int, std::string>& opinions) {
  std::map<std::string, std::set<int>> groups;
  for (const auto& [rank, opinion] : opinions) groups[opinion].insert(rank);
  if (groups.size() < 2) return {};
  const auto largest = std::max_element(
      groups.begin(), groups.end(),
      [](const auto& a, const auto& b) { return a.second.size() < b.second.size(); });
  if (largest->second.size() * 2 <= opinions.size()) return {};
  std::set<int> rest;
  for (const auto& [opinion, ranks] : groups) {
    if (opinion != largest->first) rest.insert(ranks.begin(), ranks.end());
  }
  return rest;
}

/// Everything that differs between two differing ranks, as a judgement.
Judgement desync(const Job& job, const Event& event, const std::map<int, std::string>& opinions,
                 const std::string& what) {
  Judgement judgement;
  judgement.fingerprint = Fingerprint::collective_desync;
  judgement.event = &event;
  judgement.place = event.place;
  const std::set<int> odd = minority(opinions);
  for (const auto& [rank, opinion] : opinions) {
    if (judgement.why.size() < 6)
      judgement.why.push_back("rank " + std::to_string(rank) + ": " + opinion + " (" +
                              job.where(event.place) + ")");
  }
  if (odd.size() == 1) {
    judgement.rank = *odd.begin();
    judgement.confidence = Confidence::high;
    judgement.cause = "rank " + std::to_string(*odd.begin()) + " " + what +
                      " the others: " + opinions.at(*odd.begin());
    judgement.why.push_back("it is alone with that, the others agree");
  } else {
    judgement.confidence = Confidence::medium;
    judgement.cause = "the ranks do not call the same collective";
    std::set<int> unheard;
    for (const auto& [rank, story] : job.ranks) {
      if (opinions.count(rank) == 0) unheard.insert(rank);
    }
    std::set<int> heard;
    for (const auto& [rank, opinion] : opinions) heard.insert(rank);
    judgement.missing.push_back(
        (unheard.empty() ? "the other ranks' logs" : "the logs of ranks " + in_words(unheard)) +
        ": without a majority it cannot be told which of ranks " + in_words(heard) + " is wrong");
  }
  return judgement;
}

/// CollectiveFingerPrint texts, without the sequence number where the rest differs too.
std::optional<Judgement> by_fingerprints(const Job& job) {
  std::map<int, std::string> opinions;
  const Event* first = nullptr;
  for (const Event* event : job.all) {
    const auto a = number(event->field("rank_a"));
    const std::string* const print_a = event->field("print_a");
    if (!a || print_a == nullptr) continue;
    if (first == nullptr) first = event;
    opinions.try_emplace(*a, *print_a);
    const auto b = number(event->field("rank_b"));
    if (b && event->field("print_b") != nullptr) opinions.try_emplace(*b, *event->field("print_b"));
  }
  if (first == nullptr) return std::nullopt;
  return desync(job, *first, opinions, "calls something else than");
}

bool is_wait(const Event& event) {
  return event.fingerprint == Fingerprint::gloo_collective_timeout ||
         event.fingerprint == Fingerprint::nccl_watchdog_timeout;
}

/// What each rank was in by its traceback, where ranks waited. The odd one must have waited itself:
/// one that lost its peers later may have gone on to the next collective.
std::optional<Judgement> by_frames(const Job& job) {
  std::map<int, std::string> opinions;
  std::set<int> waited;
  for (const auto& [rank, story] : job.ranks) {
    if (story.first == nullptr || story.first->role == Role::initiating) continue;
    const std::string& op = story.first->op;
    if (op.empty() || op == "send" || op == "recv" || op == "isend" || op == "irecv") continue;
    opinions[rank] = op;
    if (is_wait(*story.first)) waited.insert(rank);
  }
  const std::set<int> odd = minority(opinions);
  if (odd.size() != 1 || waited.count(*odd.begin()) == 0) return std::nullopt;
  return desync(job, *job.ranks.at(*odd.begin()).first, opinions,
                "waits in another collective than");
}

/// The watchdog's WorkNCCL lines: same number, another operation or size.
std::optional<Judgement> by_work(const Job& job) {
  std::map<std::string, std::map<int, std::string>> by_number;
  std::map<std::string, const Event*> first;
  for (const Event* event : job.all) {
    const std::string* const seq = event->field("seq");
    const std::string* const op = event->field("op");
    if (!event->rank || seq == nullptr || op == nullptr || !is_wait(*event)) continue;
    const std::string* const group = event->field("group");
    const std::string key = (group != nullptr ? *group : std::string()) + "#" + *seq;
    std::string opinion = *op;
    if (const std::string* in = event->field("size_in")) opinion += " of " + *in + " elements";
    by_number[key].try_emplace(*event->rank, opinion);
    first.try_emplace(key, event);
  }
  for (const auto& [key, opinions] : by_number) {
    if (minority(opinions).size() == 1)
      return desync(job, *first[key], opinions, "does something else at this point than");
  }
  return std::nullopt;
}

}  // namespace

std::optional<Judgement> judge_mismatch(const Job& job) {
  if (auto judgement = by_fingerprints(job)) return judgement;
  if (auto judgement = by_work(job)) return judgement;
  return by_frames(job);
}

/// Gloo aborts the process that receives more than it expects. In a ring it receives from the next
/// rank: either its own tensor is too small or the next rank's is too large.
std::optional<Judgement> judge_size_mismatch(const Job& job) {
  const Event* aborted = nullptr;
  for (const Event* event : job.all) {
    if (event->field("got") == nullptr || event->field("want") == nullptr) continue;
    if (aborted == nullptr || (!aborted->rank && event->rank)) aborted = event;
  }
  if (aborted == nullptr) return std::nullopt;
  Judgement judgement;
  judgement.fingerprint = Fingerprint::collective_desync;
  judgement.confidence = Confidence::medium;
  judgement.event = aborted;
  judgement.place = aborted->place;
  judgement.why = {cite(job, *aborted) + " expected " + *aborted->field("want") +
                   " bytes and was sent " + *aborted->field("got") +
                   ": the ranks pass tensors of different size or type"};
  judgement.cause = "the ranks pass tensors of different size or type to the same collective";
  if (!aborted->rank || job.ranks.size() < 2) {
    judgement.missing.push_back(
        "the other ranks' logs: the one that aborts may be the healthy one");
    return judgement;
  }
  const int own = *aborted->rank;
  const int count = job.world.value_or(job.ranks.rbegin()->first + 1);
  const int next = (own + 1) % std::max(count, 1);
  judgement.why.push_back("in a ring rank " + std::to_string(own) + " receives from rank " +
                          std::to_string(next) + ": either " + std::to_string(own) +
                          "'s tensor is too small or " + std::to_string(next) + "'s too large");
  if (const auto odd = odd_one_out(job, {own, next})) {
    judgement.rank = odd;
    judgement.cause =
        "rank " + std::to_string(*odd) + " passes a tensor of another size or type than the others";
    const RankStory& story = job.ranks.at(*odd);
    judgement.why.push_back("rank " + std::to_string(*odd) + " alone said something else before (" +
                            job.where(story.last_ordinary) + "): " + story.last_text);
  } else {
    judgement.missing.push_back("shape and type of the tensor on rank " + std::to_string(own) +
                                " and rank " + std::to_string(next) + ", from their logs");
    // The healthy rank is the one that aborts more often: any larger sender aborts its neighbour.
    judgement.rank = next;
    judgement.confidence = Confidence::low;
  }
  return judgement;
}

std::optional<Judgement> judge_named(const Job& job) {
  std::map<int, const Event*> named;
  std::map<int, int> votes;
  std::set<int> innocent;
  for (const Event* event : job.all) {
    if (const auto rank = number(event->field("innocent"))) innocent.insert(*rank);
    const std::string* const list = event->field("culprit");
    if (list == nullptr) continue;
    for (const int rank : number_list(*list)) {
      named.try_emplace(rank, event);
      ++votes[rank];
    }
  }
  for (const int rank : innocent) votes.erase(rank);
  if (votes.empty()) return std::nullopt;
  const auto most = std::max_element(
      votes.begin(), votes.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  std::set<int> top;
  for (const auto& [rank, count] : votes) {
    if (count == most->second) top.insert(rank);
  }
  const Event& event = *named[most->first];
  Judgement judgement;
  judgement.fingerprint =
      event.fingerprint == Fingerprint::none ? Fingerprint::collective_desync : event.fingerprint;
  judgement.event = &event;
  judgement.place = event.place;
  judgement.why = {cite(job, event) + " names rank " + in_words(top) + ": " + event.text};
  if (top.size() == 1) {
    judgement.rank = *top.begin();
    judgement.confidence = Confidence::high;
    judgement.cause =
        "rank " + std::to_string(*judgement.rank) + " did not do what the others waited for";
  } else {
    judgement.cause = "ranks " + in_words(top) + " did not do what the others waited for";
    judgement.missing.push_back("the logs of ranks " + in_words(top) + ": several are named");
  }
  if (!innocent.empty())
    judgement.why.push_back("rank " + in_words(innocent) + " arrived in time, by its own report");
  return judgement;
}

}  // namespace collwatch::diagnose
