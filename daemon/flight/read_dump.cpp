// SPDX-License-Identifier: Apache-2.0
//
// The top level of a dump: configuration and status of the groups, then the entries.
#include <algorithm>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "daemon/flight/dump.h"
#include "daemon/flight/read_entry.h"
#include "daemon/flight/read_json.h"
#include "daemon/flight/unpickle.h"

namespace collwatch::flight {
namespace {

constexpr std::size_t kMostEntries = 200000;
constexpr std::size_t kMostGroups = 65536;
constexpr std::size_t kMostKeys = 64;

class Reader {
 public:
  Reader(const Tree& tree, Words& words)
      : tree_(tree), words_(words), entries_(tree, words, dump_) {}

  model::Result<Dump> read() {
    const NodeId root = tree_.root();
    if (tree_.kind(root) != Kind::map || tree_.children(root).size() > 2 * kMostKeys)
      return failed("holds no Flight Recorder dump: not a map of a few keys");
    const auto version = tree_.at(root, "version");
    const auto list = tree_.at(root, "entries");
    const auto config = tree_.at(root, "pg_config");
    if (!version && !list && !config)
      return failed("holds no Flight Recorder dump: no 'version', 'entries' or 'pg_config'");
    if (version) dump_.version = std::string(cut(tree_.text(*version)));
    // Older ones have no version; what a later major one means, nobody knows yet.
    if (!dump_.version.empty() && dump_.version[0] > '2')
      return failed("key 'version': " + dump_.version + " is not known, up to 2.x is");
    for (const char* key : {"comm_lib_version", "nccl_version"}) {
      const auto library = tree_.at(root, key);
      if (library && dump_.library.empty()) dump_.library = std::string(cut(tree_.text(*library)));
    }
    const auto rank = tree_.at(root, "rank");
    if (const auto number = rank ? tree_.integer(*rank) : std::nullopt;
        number && *number >= 0 && *number < static_cast<std::int64_t>(kMostGroups)) {
      dump_.rank = static_cast<int>(*number);
    }
    if (std::string wrong = configured(config); !wrong.empty()) return failed(wrong);
    if (std::string wrong = recorded(list); !wrong.empty()) return failed(wrong);
    counted(tree_.at(root, "pg_status"));
    return std::move(dump_);
  }

 private:
  static model::Result<Dump> failed(const std::string& text) {
    return model::fail(model::ErrorCode::protocol, text);
  }

  std::string configured(std::optional<NodeId> config) {
    if (!config || tree_.kind(*config) == Kind::none) return {};
    if (tree_.kind(*config) != Kind::map) return "key 'pg_config': is no map";
    const std::vector<NodeId>& pairs = tree_.children(*config);
    if (pairs.size() > 2 * kMostGroups) return "key 'pg_config': more groups than any job has";
    for (std::size_t i = 0; i + 1 < pairs.size(); i += 2) {
      const NodeId one = pairs[i + 1];
      if (tree_.children(one).size() > 2 * kMostKeys) return "key 'pg_config': is not as expected";
      const auto name = tree_.at(one, "name");
      const auto description = tree_.at(one, "desc");
      const auto ranks = tree_.at(one, "ranks");
      const std::string_view text = tree_.text(name.value_or(pairs[i]));
      const std::string_view words = description ? tree_.text(*description) : std::string_view();
      const std::uint32_t index = entries_.group(words_.of(cut(text)), words_.of(cut(words)));
      dump_.groups[index].is_configured = true;
      if (ranks) dump_.groups[index].members = members(*ranks);
      if (!entries_.spend(1)) return "key 'pg_config': the dump refers to itself too often";
    }
    return {};
  }

  /// A text as "[0, 1]", or a list. Without members it is as good as not told.
  Word members(NodeId node) {
    std::string all;
    if (tree_.kind(node) == Kind::text) {
      if (!entries_.spend(tree_.text(node).size() / 8)) return kNoWord;
      for (const int rank : members_of(tree_.text(node))) add(all, rank);
    } else {
      for (const NodeId one : tree_.children(node)) {
        const auto rank = tree_.integer(one);
        if (!entries_.spend(1)) return kNoWord;
        if (rank) add(all, *rank);
      }
    }
    return all.empty() ? kNoWord : words_.of(all + "]");
  }

  static void add(std::string& all, std::int64_t rank) {
    all += (all.empty() ? "[" : ", ") + std::to_string(rank);
  }

  std::string recorded(std::optional<NodeId> list) {
    if (!list || tree_.kind(*list) == Kind::none) return {};
    if (tree_.kind(*list) != Kind::list) return "key 'entries': is no list";
    const std::vector<NodeId>& all = tree_.children(*list);
    if (all.size() > kMostEntries)
      return "key 'entries': more than " + std::to_string(kMostEntries) + " of them";
    dump_.entries.reserve(std::min<std::size_t>(all.size(), 4096));
    for (std::size_t i = 0; i < all.size(); ++i) {
      Entry entry;
      if (std::string wrong = entries_.read(all[i], entry); !wrong.empty())
        return "entry " + std::to_string(i + 1) + ", " + wrong;
      if (dump_.groups.size() > kMostGroups) return "key 'entries': more groups than any job has";
      remember_id(all[i], entry.group);
      entry.is_p2p = entry.is_p2p || ends_p2p_batch(entry);
      dump_.entries.push_back(entry);
    }
    return {};
  }

  /// A batch of sends and receives ends with an entry that is no such and carries the number of the
  /// collective before it. Where the ring begins with it, nobody knows what it ended.
  bool ends_p2p_batch(const Entry& entry) const {
    const std::string& op = words_.text(entry.op);
    const std::string_view end = ":coalesced";
    if (op.size() < end.size() || op.compare(op.size() - end.size(), end.size(), end) != 0)
      return false;
    if (dump_.entries.empty()) return entry.record > 0;
    return dump_.entries.back().is_p2p && dump_.entries.back().group == entry.group;
  }

  /// The status goes by number and not by name.
  void remember_id(NodeId entry, std::uint32_t group) {
    const auto id = tree_.at(entry, "pg_id");
    if (const auto number = id ? tree_.integer(*id) : std::nullopt)
      group_of_id_.try_emplace(*number, group);
  }

  void counted(std::optional<NodeId> status) {
    if (!status || tree_.kind(*status) != Kind::map) return;
    const std::vector<NodeId>& pairs = tree_.children(*status);
    for (std::size_t i = 0; i + 1 < pairs.size(); i += 2) {
      const auto id = tree_.integer(pairs[i]);
      const auto it = id ? group_of_id_.find(*id) : group_of_id_.end();
      const NodeId one = pairs[i + 1];
      if (it == group_of_id_.end() || tree_.children(one).size() > 2 * kMostKeys) continue;
      Group& group = dump_.groups[it->second];
      const auto number = [&](const char* key) -> std::optional<std::int64_t> {
        const auto value = tree_.at(one, key);
        return value ? tree_.integer(*value) : std::nullopt;
      };
      group.last_enqueued = number("last_enqueued_collective");
      group.last_started = number("last_started_collective");
      group.last_completed = number("last_completed_collective");
    }
  }

  const Tree& tree_;
  Words& words_;
  Dump dump_;
  EntryReader entries_;
  std::unordered_map<std::int64_t, std::uint32_t> group_of_id_;
};

}  // namespace

model::Result<Dump> read_dump(std::string bytes, Words& words) {
  const bool is_pickle = !bytes.empty() && bytes[0] == '\x80';
  auto tree = is_pickle ? unpickle(std::move(bytes)) : read_json(bytes);
  if (!tree) return model::fail(tree.error());
  return Reader(*tree, words).read();
}

}  // namespace collwatch::flight
