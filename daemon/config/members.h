// SPDX-License-Identifier: Apache-2.0
//
// Who belongs: entries of membership.static, the member file, and what must hold for any list
// (at most 8, nobody twice, this node in it). Used by load; the agent calls load_members again
// when the watched file changes.
#pragma once

#include <string>
#include <vector>

#include "daemon/config/config.h"
#include "daemon/config/tree.h"
#include "probes/model/result.h"

namespace collwatch::config {

inline constexpr std::size_t kMaxMembers = 8;
inline constexpr std::uint16_t kDefaultPeerPort = 9782;

/// "name", "name:port", "name=address", "name=address:port", "name=[v6]" or "name=[v6]:port".
model::Result<Member> parse_member(const std::string& text);
/// The shortest entry that parses back to the same name and address.
std::string format_member(const Member& member);

/// One thing wrong with a list: which entry (its size when about the whole), and the sentence.
struct MemberProblem {
  std::size_t index = 0;
  std::string text;
};
std::vector<MemberProblem> check_members(const std::vector<Member>& members,
                                         const std::string& node);

/// Reads, checks and sorts a member file: {members: [{name, address, labels}]}. The Error holds
/// every problem, a line each, as "peers.yaml:4: members[1].address: ...".
model::Result<std::vector<Member>> load_members(const std::string& path, const std::string& node);

void sort_by_name(std::vector<Member>& members);

}  // namespace collwatch::config
