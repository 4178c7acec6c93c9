// SPDX-License-Identifier: Apache-2.0
//
// One group after the other, then all of them together.
#include "daemon/flight/analyse.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <map>
#include <string_view>
#include <utility>

#include "daemon/flight/compare.h"

namespace collwatch::flight {
namespace {

constexpr std::size_t kMostSights = 64;
constexpr std::size_t kMostToFetch = 16;
constexpr std::size_t kShownRanks = 12;

std::string numbered(const Item& item, const Words& words) {
  return described(item, words) + ", number " + std::to_string(item.seq);
}

/// Gloo never moves a state on.
std::string how_far(const Item& item, const Words& words) {
  if (item.is_done) return "over";
  return words.text(item.op).rfind("gloo:", 0) == 0 ? "not over" : state_name(item.state);
}

/// Where one rank is; `item` is what it is about, if it has called it.
Sight sight_of(const Member& member, const Item* item, bool waits, const GroupView& view,
               const Words& words) {
  Sight sight;
  sight.rank = member.rank;
  sight.waits = waits;
  sight.enqueued = member.enqueued;
  sight.completed = member.completed;
  if (member.dump == nullptr) return sight;
  sight.file = member.dump->file;
  const Item* const shown = item != nullptr ? item : member.last();
  if (shown != nullptr) {
    sight.number = shown->number;
    sight.code = words.text(shown->entry->code);
  }
  const std::string in = " of " + view.title();
  if (item != nullptr) {
    sight.text = (waits ? "waits in " : "called ") + numbered(*item, words) + in + " (" +
                 how_far(*item, words) + ")";
  } else if (shown != nullptr) {
    sight.text = "last called " + numbered(*shown, words) + in;
  } else {
    sight.text = "has called nothing" + in;
  }
  if (!sight.code.empty()) sight.text += ", called at " + sight.code;
  return sight;
}

Trouble trouble_at(const GroupView& view, Finding finding, const Item& item, const Words& words) {
  Trouble trouble;
  trouble.finding = finding;
  trouble.group = view.title();
  trouble.group_name = view.name;
  const std::string& op = words.text(item.op);
  const std::size_t colon = op.find(':');
  if (colon != std::string::npos) trouble.backend = op.substr(0, colon);
  trouble.op = short_name(op);
  trouble.seq = item.seq;
  for (const Member& member : view.members) {
    if (member.dump == nullptr) trouble.absent.insert(member.rank);
  }
  return trouble;
}

void add_sights(Trouble& trouble, const GroupView& view, const Words& words) {
  // The culprits first: of a large job not everybody fits.
  for (const bool odd : {true, false}) {
    for (const Member& member : view.members) {
      if (member.dump == nullptr || (trouble.odd.count(member.rank) != 0) != odd) continue;
      if (trouble.sights.size() >= kMostSights) return;
      const bool waits = trouble.waiting.count(member.rank) != 0;
      trouble.sights.push_back(sight_of(member, member.at(trouble.seq), waits, view, words));
    }
  }
}

void name_single(Trouble& trouble, const GroupView& view) {
  if (trouble.odd.size() == 1) trouble.group_rank = view.group_rank_of(*trouble.odd.begin());
}

/// Votes by number, of all ranks that have it.
std::map<std::int64_t, std::vector<Vote>> votes_of(const GroupView& view) {
  std::map<std::int64_t, std::vector<Vote>> votes;
  for (const Member& member : view.members) {
    for (const Item& item : member.items) {
      // Of several entries under one number the ring may have kept the last ones only.
      if (!member.is_cut || item.number > 1) votes[item.seq].push_back({&member, &item});
    }
  }
  return votes;
}

std::optional<Trouble> mismatch_in(const GroupView& view, const Words& words) {
  for (const auto& [seq, votes] : votes_of(view)) {
    const auto found = difference_of(votes, votes.size() == view.members.size(), words);
    if (!found) continue;
    const auto usual = std::find_if(votes.begin(), votes.end(), [&](const Vote& vote) {
      return found->odd.count(vote.member->rank) == 0;
    });
    Trouble trouble = trouble_at(view, Finding::mismatch, *usual->item, words);
    trouble.what = found->what;
    trouble.odd = found->odd;
    for (const Vote& vote : votes) {
      if (!vote.item->is_done) trouble.waiting.insert(vote.member->rank);
    }
    for (const auto& [opinion, ranks] : found->opinions)
      trouble.opinions.push_back(ranks_in_words(ranks) + ": " + opinion);
    name_single(trouble, view);
    add_sights(trouble, view, words);
    return trouble;
  }
  return std::nullopt;
}

/// The first collective that somebody is known to have called and not finished.
const Item* frontier(const GroupView& view) {
  const Item* first = nullptr;
  for (const Member& member : view.members) {
    const Item* const own = member.dump == nullptr ? nullptr : member.pending();
    if (own != nullptr && (first == nullptr || own->seq < first->seq)) first = own;
  }
  return first;
}

std::optional<Trouble> waiting_in(const GroupView& view, const Words& words) {
  const Item* const first = frontier(view);
  if (first == nullptr) return std::nullopt;
  Trouble trouble = trouble_at(view, Finding::frozen, *first, words);
  std::set<int> done;
  std::set<int> not_started;
  for (const Member& member : view.members) {
    if (member.dump == nullptr) continue;
    const Item* const item = member.at(first->seq);
    if (item != nullptr && !item->is_done) {
      trouble.waiting.insert(member.rank);
      if (item->state == State::scheduled) not_started.insert(member.rank);
    } else if (item != nullptr || member.completed >= first->seq) {
      done.insert(member.rank);
    } else if (member.is_clear && member.enqueued < first->seq) {
      trouble.behind.insert(member.rank);
    }
  }
  if (!trouble.behind.empty()) {
    trouble.finding = Finding::lagging;
    trouble.odd = trouble.behind;
  } else if (!done.empty()) {
    trouble.finding = Finding::state;
    trouble.what = "completed";
    trouble.odd = trouble.waiting;
  } else if (!trouble.absent.empty()) {
    trouble.finding = Finding::missing;
    trouble.odd = trouble.absent;
  } else if (!not_started.empty() && not_started.size() < trouble.waiting.size()) {
    trouble.finding = Finding::state;
    trouble.what = "started";
    trouble.odd = not_started;
  }
  name_single(trouble, view);
  add_sights(trouble, view, words);
  return trouble;
}

std::vector<std::string> files_to_fetch(const std::vector<RankDump>& dumps,
                                        const std::set<int>& absent) {
  std::vector<std::string> names;
  const std::string& like = dumps.front().file;
  for (const int rank : absent) {
    if (names.size() >= kMostToFetch) break;
    std::string name = name_for_rank(std::string_view(like).substr(like.rfind('/') + 1), rank);
    if (!name.empty()) names.push_back(std::move(name));
  }
  return names;
}

}  // namespace

std::string ranks_in_words(const std::set<int>& ranks) {
  std::string text = ranks.size() == 1 ? "rank " : "ranks ";
  if (ranks.size() > 3 && *ranks.rbegin() - *ranks.begin() + 1 == static_cast<int>(ranks.size()))
    return text + std::to_string(*ranks.begin()) + " to " + std::to_string(*ranks.rbegin());
  std::size_t shown = 0;
  for (const int rank : ranks) {
    if (shown == kShownRanks)
      return text + " and " + std::to_string(ranks.size() - shown) + " more";
    const bool is_last = shown + 1 == ranks.size();
    text += (shown == 0 ? "" : (is_last ? " and " : ", ")) + std::to_string(rank);
    ++shown;
  }
  return text;
}

std::optional<Trouble> trouble_of(const GroupView& view, const Words& words) {
  if (auto found = mismatch_in(view, words)) return found;
  return waiting_in(view, words);
}

Analysis analyse(const std::vector<RankDump>& dumps, std::optional<int> world, Words& words) {
  Analysis analysis;
  const std::set<int> everybody = ranks_of(dumps, world, words);
  for (const RankDump& dump : dumps) analysis.ranks.insert(dump.rank);
  std::set_difference(everybody.begin(), everybody.end(), analysis.ranks.begin(),
                      analysis.ranks.end(), std::inserter(analysis.absent, analysis.absent.end()));
  std::vector<Trouble> troubles;
  Views views(dumps, everybody, words);
  while (const auto view = views.next()) {
    if (auto trouble = trouble_of(*view, words)) troubles.push_back(std::move(*trouble));
  }
  if (!dumps.empty()) analysis.to_fetch = files_to_fetch(dumps, analysis.absent);
  put_cause_first(troubles);
  if (troubles.empty()) return analysis;
  analysis.main = std::move(troubles.front());
  troubles.erase(troubles.begin());
  analysis.others = std::move(troubles);
  return analysis;
}

}  // namespace collwatch::flight
