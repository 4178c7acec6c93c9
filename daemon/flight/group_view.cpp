// SPDX-License-Identifier: Apache-2.0
//
// From entries in the order of calling to items by number.
#include "daemon/flight/group_view.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <utility>

namespace collwatch::flight {

/// Which entries are a group's, found once for all groups of a dump.
class ByGroup {
 public:
  explicit ByGroup(const Dump& dump) : dump_(dump) {
    for (std::size_t i = 0; i < dump.entries.size(); ++i) {
      const Entry& entry = dump.entries[i];
      if (!entry.is_p2p && entry.seq >= 0) order_.push_back(static_cast<std::uint32_t>(i));
    }
    std::stable_sort(order_.begin(), order_.end(), [&](std::uint32_t a, std::uint32_t b) {
      return dump.entries[a].group < dump.entries[b].group;
    });
  }

  using Range = std::pair<std::vector<std::uint32_t>::const_iterator,
                          std::vector<std::uint32_t>::const_iterator>;
  Range of(std::uint32_t group) const {
    const auto first = std::partition_point(order_.begin(), order_.end(), [&](std::uint32_t i) {
      return dump_.entries[i].group < group;
    });
    const auto last = std::partition_point(
        first, order_.end(), [&](std::uint32_t i) { return dump_.entries[i].group == group; });
    return {first, last};
  }

 private:
  const Dump& dump_;
  std::vector<std::uint32_t> order_;
};

namespace {

constexpr int kMostRanks = 65536;
constexpr std::size_t kMostMembersInAll = std::size_t{4} << 20;
constexpr const char* kDefaultGroup = "default_pg";

/// Gloo never moves a state on, it retires what is over. The status of the group is no measure:
/// where several run at once, it tells which one ended last.
bool is_done(const Entry& entry) {
  return entry.state == State::completed || entry.is_retired;
}

/// Several entries under one number: their operations one after the other.
void join(Item& item, const Entry& entry, bool done, Words& words) {
  item.is_single = false;
  item.is_done = item.is_done && done;
  item.state = std::min(item.state, entry.state);
  const std::string& before = words.text(item.op);
  if (before.size() < 400) item.op = words.of(before + " + " + words.text(entry.op));
}

bool is_cut(const RankDump& dump) {
  return !dump.dump.entries.empty() && dump.dump.entries.front().record > 0;
}

/// What this dump says of one of its groups.
void fill(Member& member, const RankDump& dump, const Group& group, const ByGroup::Range& entries,
          Words& words) {
  member.dump = &dump;
  for (auto it = entries.first; it != entries.second; ++it) {
    const std::uint32_t i = *it;
    const Entry& entry = dump.dump.entries[i];
    const bool done = is_done(entry);
    if (!member.items.empty() && member.items.back().seq == entry.seq) {
      join(member.items.back(), entry, done, words);
      continue;
    }
    Item item;
    item.seq = entry.seq;
    item.entry = &entry;
    item.number = static_cast<long>(i) + 1;
    item.op = entry.op;
    item.is_done = done;
    item.state = entry.state;
    member.items.push_back(item);
  }
  std::stable_sort(member.items.begin(), member.items.end(),
                   [](const Item& a, const Item& b) { return a.seq < b.seq; });
  member.is_cut = is_cut(dump);
  member.enqueued = group.last_enqueued.value_or(-1);
  member.completed = group.last_completed.value_or(-1);
  for (const Item& item : member.items) {
    member.enqueued = std::max(member.enqueued, item.seq);
    if (item.is_done) member.completed = std::max(member.completed, item.seq);
  }
  member.is_clear = !member.items.empty() || group.last_enqueued.has_value() || !member.is_cut;
}

/// How many ranks an all-gather's tensors tell of.
int gathered(const Entry& entry, const Words& words) {
  const std::string& op = words.text(entry.op);
  if (op.find("all_gather") == std::string::npos || entry.input_total <= 0) return 0;
  const std::int64_t parts = entry.output_total / entry.input_total;
  const bool is_whole = parts * entry.input_total == entry.output_total && entry.even_outputs;
  return is_whole && parts <= kMostRanks ? static_cast<int>(parts) : 0;
}

}  // namespace

const Item* Member::at(std::int64_t seq) const {
  const auto it =
      std::lower_bound(items.begin(), items.end(), seq,
                       [](const Item& item, std::int64_t value) { return item.seq < value; });
  return it == items.end() || it->seq != seq ? nullptr : &*it;
}

const Item* Member::pending() const {
  const auto it =
      std::find_if(items.begin(), items.end(), [](const Item& item) { return !item.is_done; });
  return it == items.end() ? nullptr : &*it;
}

std::optional<int> GroupView::group_rank_of(int rank) const {
  for (std::size_t i = 0; are_members_known && i < members.size(); ++i) {
    if (members[i].rank == rank) return static_cast<int>(i);
  }
  return std::nullopt;
}

std::string GroupView::title() const {
  const bool says_more = !description.empty() && description != name && description != "undefined";
  return "group " + name + (says_more ? " (" + description + ")" : "");
}

std::set<int> ranks_of(const std::vector<RankDump>& dumps, std::optional<int> world,
                       const Words& words) {
  int size = std::min(world.value_or(0), kMostRanks);
  std::set<Word> seen;
  for (const RankDump& dump : dumps) {
    size = std::max(size, dump.rank + 1);
    for (const Group& group : dump.dump.groups) {
      if (!seen.insert(group.members).second) continue;
      for (const int rank : members_of(words.text(group.members))) size = std::max(size, rank + 1);
    }
    for (const Entry& entry : dump.dump.entries) {
      const Group& group = dump.dump.groups[entry.group];
      if (words.text(group.description) != kDefaultGroup) continue;
      size = std::max(size, gathered(entry, words));
    }
  }
  std::set<int> ranks;
  for (int rank = 0; rank < size; ++rank) ranks.insert(ranks.end(), rank);
  return ranks;
}

Views::Views(const std::vector<RankDump>& dumps, const std::set<int>& ranks, Words& words)
    : ranks_(ranks), words_(words) {
  for (const RankDump& dump : dumps) {
    dumps_.emplace(dump.rank, &dump);
    entries_.emplace(&dump, std::make_unique<ByGroup>(dump.dump));
    for (std::size_t g = 0; g < dump.dump.groups.size(); ++g) {
      const Group& group = dump.dump.groups[g];
      groups_[{group.name, group.members}].push_back({&dump, static_cast<std::uint32_t>(g)});
    }
  }
  next_ = groups_.begin();
}

Views::~Views() = default;

std::optional<GroupView> Views::next() {
  for (; next_ != groups_.end() && member_count_ < kMostMembersInAll; ++next_) {
    const bool is_used =
        std::any_of(next_->second.begin(), next_->second.end(), [&](const Listed& one) {
          const auto [first, last] = entries_.at(one.dump)->of(one.group);
          return first != last;
        });
    if (!is_used) continue;
    GroupView view = view_of(next_->first, next_->second);
    if (view.members.size() < 2 && view.are_members_known) continue;
    ++next_;
    return view;
  }
  return std::nullopt;
}

GroupView Views::view_of(const Key& key, const std::vector<Listed>& listed) {
  GroupView view;
  view.name = words_.text(key.first);
  std::map<int, const Listed*> by_rank;
  for (const Listed& one : listed) {
    by_rank.emplace(one.dump->rank, &one);
    if (view.description.empty())
      view.description = words_.text(one.dump->dump.groups[one.group].description);
  }
  std::vector<int> order = members_of(words_.text(key.second));
  view.are_members_known = !order.empty();
  if (order.empty() && view.description == kDefaultGroup) {
    order.assign(ranks_.begin(), ranks_.end());
    view.are_members_known = true;
  }
  if (order.empty()) {
    for (const auto& [rank, one] : by_rank) order.push_back(rank);
  }
  std::set<int> taken;
  for (const int rank : order) {
    if (!taken.insert(rank).second) continue;
    Member member;
    member.rank = rank;
    const auto own = by_rank.find(rank);
    const auto dump = dumps_.find(rank);
    if (own != by_rank.end()) {
      const Listed& one = *own->second;
      fill(member, *one.dump, one.dump->dump.groups[one.group],
           entries_.at(one.dump)->of(one.group), words_);
    } else if (dump != dumps_.end()) {
      // It never got as far as making the group, or has called nothing in it.
      member.dump = dump->second;
      member.is_cut = is_cut(*dump->second);
      member.is_clear = !member.is_cut;
    }
    view.members.push_back(std::move(member));
  }
  member_count_ += view.members.size();
  return view;
}

}  // namespace collwatch::flight
