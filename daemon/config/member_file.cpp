// SPDX-License-Identifier: Apache-2.0
//
// peers.yaml to members, strictly: an unknown key there is a member that would silently lose its
// label or its address. The other half of members.h.
#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "daemon/config/members.h"
#include "daemon/config/suggest.h"
#include "daemon/config/units.h"
#include "daemon/config/yaml.h"

namespace collwatch::config {
namespace {

const std::vector<std::string> kMemberKeys = {"name", "address", "labels"};
const std::vector<std::string> kLabelKeys = {"cluster", "rack", "rail"};

class MemberFile {
 public:
  explicit MemberFile(std::string path) : path_(std::move(path)) {}

  model::Result<std::vector<Member>> read(const std::string& node) {
    const auto tree = read_yaml(path_);
    if (!tree) return model::fail(tree.error());
    read_root(*tree);
    if (problems_.empty()) check(node);
    if (!problems_.empty()) return model::fail(problems_.error());
    sort_by_name(members_);
    return members_;
  }

 private:
  void complain(int line, const std::string& key, const std::string& text) {
    const std::string place = line > 0 ? ":" + std::to_string(line) : "";
    problems_.add(path_ + place + ": " + key + ": " + text);
  }

  void read_root(const Tree& root) {
    if (root.shape != Tree::Shape::section) {
      complain(root.line, "members", "missing; write members: [{name: n0}, ...]");
      return;
    }
    bool found = false;
    for (const Tree::Entry& entry : root.entries) {
      if (entry.key != "members") {
        complain(entry.line, shown(entry.key),
                 "unknown key" + did_you_mean(entry.key, {"members"}));
      } else if (found) {
        complain(entry.line, "members", "given twice");
      } else if (entry.value.shape != Tree::Shape::list) {
        complain(entry.line, "members", "must be a list of members");
      } else {
        read_list(entry.value);
      }
      found = found || entry.key == "members";
    }
    if (!found) complain(0, "members", "missing; write members: [{name: n0}, ...]");
  }

  void read_list(const Tree& list) {
    for (std::size_t i = 0; i < list.items.size(); ++i) {
      const std::string key = "members[" + std::to_string(i) + "]";
      const Tree& item = list.items[i];
      if (item.shape != Tree::Shape::section) {
        complain(item.line, key, "must be {name, address, labels}");
        continue;
      }
      lines_.push_back(item.line);
      read_member(item, key);
    }
  }

  /// The entries of `section` by key, complaining about unknown and repeated ones.
  std::map<std::string, const Tree*> known_entries(const Tree& section, const std::string& key,
                                                   const std::vector<std::string>& known) {
    std::map<std::string, const Tree*> found;
    for (const Tree::Entry& entry : section.entries) {
      const std::string full = key + "." + shown(entry.key);
      if (std::find(known.begin(), known.end(), entry.key) == known.end()) {
        complain(entry.line, full, "unknown key" + did_you_mean(entry.key, known));
      } else if (!found.emplace(entry.key, &entry.value).second) {
        complain(entry.line, full, "given twice");
      }
    }
    return found;
  }

  void read_member(const Tree& item, const std::string& key) {
    const auto entries = known_entries(item, key, kMemberKeys);
    Member member;
    const auto name = entries.find("name");
    if (name == entries.end()) {
      complain(item.line, key, "has no name");
    } else if (name->second->shape != Tree::Shape::text || !is_node_name(name->second->text)) {
      complain(name->second->line, key + ".name",
               "'" + shown(name->second->text) + "' is not a node name");
    } else {
      member.name = name->second->text;
      member.address = {member.name, kDefaultPeerPort};
    }
    if (const auto address = entries.find("address"); address != entries.end()) {
      const auto parsed = parse_endpoint(address->second->text, kDefaultPeerPort);
      if (parsed) {
        member.address = *parsed;
      } else {
        complain(address->second->line, key + ".address", parsed.error().text);
      }
    }
    if (const auto labels = entries.find("labels"); labels != entries.end()) {
      read_labels(*labels->second, key + ".labels", member);
    }
    members_.push_back(std::move(member));
  }

  void read_labels(const Tree& tree, const std::string& key, Member& member) {
    if (tree.shape == Tree::Shape::nothing) return;
    if (tree.shape != Tree::Shape::section) {
      complain(tree.line, key, "must be a section of cluster, rack, rail");
      return;
    }
    for (const auto& [label, value] : known_entries(tree, key, kLabelKeys)) {
      if (value->shape != Tree::Shape::text || !is_label_value(value->text)) {
        complain(value->line, key + "." + label,
                 "'" + shown(value->text) +
                     "' is not a label value (printable, at most 64 "
                     "characters, no quotes, backslashes or commas)");
      } else {
        member.labels[label] = value->text;
      }
    }
  }

  void check(const std::string& node) {
    for (const MemberProblem& problem : check_members(members_, node)) {
      const bool whole = problem.index >= members_.size();
      complain(whole ? 0 : lines_[problem.index],
               whole ? "members" : "members[" + std::to_string(problem.index) + "]", problem.text);
    }
  }

  std::string path_;
  Problems problems_;
  std::vector<Member> members_;
  std::vector<int> lines_;  ///< of members_, while there are no problems
};

}  // namespace

model::Result<std::vector<Member>> load_members(const std::string& path, const std::string& node) {
  return MemberFile(path).read(node);
}

}  // namespace collwatch::config
