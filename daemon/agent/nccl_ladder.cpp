// SPDX-License-Identifier: Apache-2.0
//
// Counting devices and comparing words.
#include "daemon/agent/nccl_ladder.h"

#include <algorithm>
#include <map>

#include "daemon/agent/unlike_the_rest.h"

namespace collwatch::agent {
namespace {

using Word = std::string wire::NcclFacts::*;

/// Those whose `word` is another than the commonest, with a sentence each.
void add_odd(NcclLadder& ladder, const std::vector<NcclMember>& members, const std::string& self,
             Word word, const std::string& what) {
  std::map<std::string, std::string> words;
  for (const NcclMember& member : members) words[member.name] = member.facts.*word;
  const std::vector<std::string> odd = unlike_the_rest(words, self);
  std::string common;
  for (const auto& [name, value] : words) {
    const bool is_odd = std::find(odd.begin(), odd.end(), name) != odd.end();
    if (!is_odd && !value.empty()) common = value;
  }
  for (const std::string& name : odd) {
    ladder.odd.emplace_back(
        name, name + " has " + what + " " + words[name] + " where the others have " + common);
  }
}

}  // namespace

NcclLadder nccl_ladder(const std::vector<NcclMember>& members, std::size_t own, std::int64_t turn) {
  NcclLadder ladder;
  const std::string& self = members[own].name;
  add_odd(ladder, members, self, &wire::NcclFacts::nccl, "NCCL");
  ladder.is_mixed = !ladder.odd.empty();
  add_odd(ladder, members, self, &wire::NcclFacts::cuda, "NCCL for CUDA");
  add_odd(ladder, members, self, &wire::NcclFacts::driver, "a driver for CUDA");
  const std::vector<wire::Blob>& ids = members.front().facts.ids;
  if (ladder.is_mixed || ids.size() < 2 || members.size() < 2) return ladder;

  int fewest = members.front().facts.devices;
  int all = 0;
  int before = 0;
  for (std::size_t i = 0; i < members.size(); ++i) {
    const int devices = members[i].facts.devices;
    fewest = std::min(fewest, devices);
    all += devices;
    if (i < own) before += devices;
  }
  if (fewest < 1) return ladder;
  const auto nodes = static_cast<int>(members.size());
  wire::NcclRun rail;
  rail.rung = wire::Rung::rail;
  rail.device = static_cast<int>(turn % fewest);
  rail.first_rank = static_cast<int>(own);
  rail.ranks = nodes;
  rail.id = ids[0];
  ladder.runs.push_back(rail);
  if (all == nodes) return ladder;  // the rail was all of them
  wire::NcclRun whole;
  whole.rung = wire::Rung::all;
  whole.first_rank = before;
  whole.ranks = all;
  whole.id = ids[1];
  ladder.runs.push_back(whole);
  return ladder;
}

}  // namespace collwatch::agent
