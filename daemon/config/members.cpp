// SPDX-License-Identifier: Apache-2.0
//
// Entries of membership.static, and the rules every member list obeys whatever it came from.
#include "daemon/config/members.h"

#include <algorithm>
#include <map>

#include "daemon/config/units.h"

namespace collwatch::config {

model::Result<Member> parse_member(const std::string& text) {
  const std::size_t equals = text.find('=');
  Member member;
  if (equals == std::string::npos) {
    const auto address = parse_endpoint(text, kDefaultPeerPort);
    if (!address) return model::fail(address.error());
    member.address = *address;
    member.name = address->host;
  } else {
    const auto address = parse_endpoint(text.substr(equals + 1), kDefaultPeerPort);
    if (!address) return model::fail(address.error());
    member.address = *address;
    member.name = text.substr(0, equals);
  }
  if (!is_node_name(member.name)) {
    return model::fail(model::ErrorCode::invalid_argument,
                       "'" + shown(member.name) +
                           "' is not a node name; write name, "
                           "name:port, name=address or name=address:port");
  }
  return member;
}

std::string format_member(const Member& member) {
  std::string address = format_endpoint(member.address);
  if (member.address.port == kDefaultPeerPort) address.resize(address.rfind(':'));
  return member.address.host == member.name ? address : member.name + "=" + address;
}

std::vector<MemberProblem> check_members(const std::vector<Member>& members,
                                         const std::string& node) {
  std::vector<MemberProblem> problems;
  std::map<std::string, std::size_t> names;
  std::map<std::string, std::size_t> addresses;
  for (std::size_t i = 0; i < members.size(); ++i) {
    const std::string address = format_endpoint(members[i].address);
    if (!names.emplace(members[i].name, i).second) {
      problems.push_back({i, "'" + members[i].name + "' is listed twice"});
    } else if (const auto [other, fresh] = addresses.emplace(address, i); !fresh) {
      problems.push_back({i, "'" + members[other->second].name + "' and '" + members[i].name +
                                 "' have the same address " + address});
    }
  }
  if (members.size() > kMaxMembers) {
    problems.push_back({members.size(), "at most " + std::to_string(kMaxMembers) +
                                            " members in this version (got " +
                                            std::to_string(members.size()) + ")"});
  }
  if (names.count(node) == 0) {
    // Near-by names (n1 for n4) would be a guess; a host name's first part is not.
    const std::string short_name = node.substr(0, node.find('.'));
    const std::string hint = names.count(short_name) != 0 ? " " + short_name : "";
    problems.push_back({members.size(), "this node '" + shown(node) +
                                            "' is not in membership: add it or set node:" + hint});
  }
  return problems;
}

void sort_by_name(std::vector<Member>& members) {
  std::sort(members.begin(), members.end(),
            [](const Member& a, const Member& b) { return a.name < b.name; });
}

}  // namespace collwatch::config
