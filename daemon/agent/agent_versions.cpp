// SPDX-License-Identifier: Apache-2.0
//
// What versions this node runs goes to its contacts when it changes; in every other identity it
// goes along. Who differs is a ticket, and the sentence that names both versions its evidence.
#include "daemon/agent/agent.h"
#include "daemon/agent/route.h"

namespace collwatch::agent {

namespace {

constexpr base::Millis kCallTakes{300};

}  // namespace

Versions Agent::own_versions() const {
  return versions_of(watched_jobs_, c10d_ ? c10d_->shown().torch : std::string());
}

void Agent::share_versions() {
  const Versions own = own_versions();
  for (auto& [name, link] : links_) {
    PeerFacts& facts = facts_[name];
    const auto to = resolver_.address(name);
    if (facts.told_versions == own || facts.versions_call || !to) continue;
    if (link->incarnation().empty() || link->left()) continue;
    peer::Request request = request_to(name);
    request.body = peer::Dial{};
    facts.versions_call =
        peer::Call::start(loop_, *to, bind_address(config_, *to), config_.peers.token,
                          std::move(request), kCallTakes, [this, name = name, own](auto result) {
                            PeerFacts& told = facts_[name];
                            const auto call = std::move(told.versions_call);
                            if (result.reply) told.told_versions = own;
                          });
  }
}

std::vector<OddVersion> Agent::all_odd_versions() const {
  std::map<std::string, Versions> members;
  const auto add = [&](const std::string& name, const Versions& versions,
                       const std::string& build) {
    members[name] = versions;
    if (!build.empty()) members[name][kGlooBuild] = build;
  };
  add(config_.node, own_versions(), worker_->build());
  for (const auto& [name, facts] : facts_) {
    const auto link = links_.find(name);
    // Who has left runs nothing.
    const bool is_gone = link == links_.end() || link->second->left();
    add(name, is_gone ? Versions{} : facts.versions, facts.build);
  }
  return odd_versions(members, config_.node);
}

std::string Agent::why_odd(const std::string& member) const {
  std::string text;
  for (const OddVersion& odd : all_odd_versions()) {
    if (odd.member == member) text += (text.empty() ? "" : "; ") + sentence(odd);
  }
  return text;
}

}  // namespace collwatch::agent
