// SPDX-License-Identifier: Apache-2.0
//
// Operation, then size, then type: the first that differs is the difference.
#include "daemon/flight/compare.h"

#include <cstdint>

namespace collwatch::flight {
namespace {

bool holds(const std::string& text, const char* what) {
  return text.find(what) != std::string::npos;
}

/// What of a collective must be the same on all ranks.
struct Rule {
  bool inputs = true;
  bool outputs = true;
  bool sums = false;   ///< all that goes in must come out
  bool parts = false;  ///< one side lists a tensor for each rank
};

Rule rule_of(const std::string& op) {
  if (holds(op, "all_to_all") || holds(op, "alltoall")) return {false, false, true, false};
  if (holds(op, "barrier")) return {false, false, false, false};
  if (holds(op, "reduce_scatter")) return {true, true, false, true};
  if (holds(op, "scatter")) return {false, true, false, false};
  if (holds(op, "all_gather") || holds(op, "allgather")) return {true, true, false, true};
  if (holds(op, "gather")) return {true, false, false, false};
  if (holds(op, "all_reduce") || holds(op, "allreduce")) return {true, true, false, false};
  if (holds(op, "reduce")) return {true, false, false, false};
  return {};
}

using Choice = Word Entry::*;

struct Ballot {
  std::map<Word, std::set<int>> votes;
  const std::vector<Vote>& all;

  explicit Ballot(const std::vector<Vote>& everybody) : all(everybody) {}
  void count(Choice choice, const Words& words) {
    votes.clear();
    for (const Vote& vote : all) {
      const Word word = vote.item->entry->*choice;
      const std::string& text = words.text(word);
      // A version that does not tell, or a rank that has no such tensor: no opinion.
      if (!text.empty() && text != "[]") votes[word].insert(vote.member->rank);
    }
  }
  void count_operations() {
    votes.clear();
    for (const Vote& vote : all) votes[vote.item->op].insert(vote.member->rank);
  }
  bool differs() const { return votes.size() > 1; }
};

std::set<int> odd_of(const std::map<Word, std::set<int>>& votes) {
  std::size_t total = 0;
  const std::set<int>* most = nullptr;
  for (const auto& [word, ranks] : votes) {
    total += ranks.size();
    if (most == nullptr || ranks.size() > most->size()) most = &ranks;
  }
  std::set<int> odd;
  if (most == nullptr || most->size() * 2 <= total) return odd;
  for (const auto& [word, ranks] : votes) {
    if (&ranks != most) odd.insert(ranks.begin(), ranks.end());
  }
  return odd;
}

Difference difference(const Ballot& ballot, const char* what, const Words& words) {
  Difference found;
  found.what = what;
  found.odd = odd_of(ballot.votes);
  for (const auto& [word, ranks] : ballot.votes) {
    for (const Vote& vote : ballot.all) {
      if (ranks.count(vote.member->rank) == 0) continue;
      found.opinions[described(*vote.item, words)].insert(vote.member->rank);
    }
  }
  return found;
}

/// Where tensors of one rank differ among themselves, uneven parts are meant.
bool is_even(const std::vector<Vote>& votes, bool Entry::*flag) {
  for (const Vote& vote : votes) {
    if (!(vote.item->entry->*flag)) return false;
  }
  return true;
}

std::optional<Difference> by_sums(const std::vector<Vote>& votes, const Words& words) {
  std::int64_t in = 0;
  std::int64_t out = 0;
  for (const Vote& vote : votes) {
    // Sums of what is absurdly large say nothing.
    constexpr std::int64_t kMost = std::int64_t{1} << 46;
    if (vote.item->entry->input_total > kMost || vote.item->entry->output_total > kMost)
      return std::nullopt;
    in += vote.item->entry->input_total;
    out += vote.item->entry->output_total;
  }
  if (in == out) return std::nullopt;
  Difference found;
  found.what = "size";
  for (const Vote& vote : votes)
    found.opinions[described(*vote.item, words)].insert(vote.member->rank);
  return found;
}

/// "[[4, 4]]" of a single tensor is "[4, 4]" for people; of none there is nothing to say.
std::string shapes(const std::string& all) {
  if (all.size() <= 2) return {};
  const bool is_single = all.find("], [") == std::string::npos && all.find("]]") == all.size() - 2;
  const std::string text = is_single ? all.substr(1, all.size() - 2) : all;
  return text.size() > 120 ? text.substr(0, 120) + "..." : text;
}

}  // namespace

std::string short_name(const std::string& op) {
  const std::size_t colon = op.find(':');
  return colon == std::string::npos ? op : op.substr(colon + 1);
}

std::string described(const Item& item, const Words& words) {
  std::string text = short_name(words.text(item.op));
  const Entry& entry = *item.entry;
  if (!item.is_single) return text;
  const std::string in = shapes(words.text(entry.inputs));
  const std::string out = shapes(words.text(entry.outputs));
  if (!in.empty()) text += " of " + in;
  if (!out.empty() && out != in) text += " into " + out;
  const Word type = entry.input_types != kNoWord ? entry.input_types : entry.output_types;
  if (const std::string& name = words.text(type); name.size() > 2)
    text += " " + name.substr(1, name.size() - 2);
  return text;
}

std::optional<Difference> difference_of(const std::vector<Vote>& votes, bool is_everybody_here,
                                        const Words& words) {
  if (votes.size() < 2) return std::nullopt;
  Ballot ballot(votes);
  ballot.count_operations();
  if (ballot.differs()) return difference(ballot, "operation", words);
  for (const Vote& vote : votes) {
    if (!vote.item->is_single) return std::nullopt;
  }
  const std::string op = short_name(words.text(votes.front().item->op));
  const Rule rule = rule_of(op);
  if (rule.sums && is_everybody_here) {
    if (auto found = by_sums(votes, words)) return found;
  }
  // Uneven gathers and scatters: the long side is told to all, the short side differs.
  const bool ask_inputs = rule.inputs && !(rule.parts && !is_even(votes, &Entry::even_outputs));
  const bool ask_outputs = rule.outputs && !(rule.parts && !is_even(votes, &Entry::even_inputs));
  for (const auto& [asked, choice] :
       {std::pair{ask_inputs, &Entry::input_counts}, {ask_outputs, &Entry::output_counts}}) {
    if (!asked) continue;
    ballot.count(choice, words);
    if (ballot.differs()) return difference(ballot, "size", words);
  }
  for (const Choice choice : {&Entry::input_types, &Entry::output_types}) {
    ballot.count(choice, words);
    if (ballot.differs()) return difference(ballot, "type", words);
  }
  return std::nullopt;
}

}  // namespace collwatch::flight
