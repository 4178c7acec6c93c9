// SPDX-License-Identifier: Apache-2.0
//
// What the agent knows for itself rather than by inference from edges: who never joined, whose
// settings are not everybody's, whose clock is off, who damages what it sends to the group.
#include <algorithm>
#include <cmath>
#include <set>

#include "daemon/agent/agent.h"
#include "daemon/agent/unlike_the_rest.h"

namespace collwatch::agent {

using base::Clock;
using base::Millis;
using base::TimePoint;

namespace {

constexpr double kClockSkewSeconds = 5.0;
/// A mismatch that has not shown for this long is mended.
constexpr std::chrono::seconds kMisconfigLasts{30};

}  // namespace

std::vector<state::Claim> Agent::odd_ones() const {
  std::map<std::string, std::string> intervals{
      {config_.node, std::to_string(config_.edge.interval.count())}};
  for (const auto& [name, facts] : facts_) {
    if (facts.interval_ms != 0) intervals[name] = std::to_string(facts.interval_ms);
  }
  std::vector<state::Claim> claims;
  const auto claim = [&claims](const std::string& entity, model::Reason reason,
                               model::Fingerprint fingerprint) {
    state::Claim made;
    made.kind = model::Kind::misconfig;
    made.entity = entity;
    made.reason = reason;
    made.fingerprint = fingerprint;
    made.highest = model::VerdictState::ticket;
    claims.push_back(made);
  };
  std::set<std::string> odd;
  for (const OddVersion& one : all_odd_versions()) odd.insert(one.member);
  for (const std::string& name : odd) {
    claim(name, model::Reason::version_mismatch, model::Fingerprint::version_mismatch);
  }
  for (const std::string& name : nccl_->odd_ones()) {
    claim(name, model::Reason::version_mismatch, model::Fingerprint::version_mismatch);
  }
  for (const std::string& name : unlike_the_rest(intervals, config_.node)) {
    claim(name, model::Reason::config_mismatch, model::Fingerprint::none);
  }
  return claims;
}

std::vector<state::Claim> Agent::claims(TimePoint now) const {
  std::vector<state::Claim> claims;
  const auto claim = [&](model::Kind kind, const std::string& entity, model::Reason reason,
                         model::Fingerprint fingerprint, model::VerdictState highest) {
    state::Claim made;
    made.kind = kind;
    made.entity = entity;
    made.reason = reason;
    made.fingerprint = fingerprint;
    made.highest = highest;
    claims.push_back(made);
  };
  // Where no name resolves it is this node's names that are gone, not everybody else.
  const bool any_address = std::any_of(links_.begin(), links_.end(), [this](const auto& link) {
    return resolver_.address(link.first).has_value();
  });
  for (const auto& [name, link] : links_) {
    const bool waited = now - link->added_at() > config_.membership.join_grace;
    if (any_address && !link->joined() && !link->left() && waited) {
      claim(model::Kind::node, name, model::Reason::never_joined,
            model::Fingerprint::gloo_init_failed, model::VerdictState::page);
    }
  }
  for (const auto& [key, found] : misconfigs_) {
    if (now - found.last_seen > kMisconfigLasts) continue;
    const auto fingerprint = key.second == model::Reason::wrong_interface
                                 ? model::Fingerprint::gloo_wrong_interface
                                 : model::Fingerprint::none;
    claim(model::Kind::misconfig, key.first, key.second, fingerprint, model::VerdictState::ticket);
  }
  if (store_) {
    for (const std::string& name : store_->sharing().odd()) {
      claim(model::Kind::misconfig, name, model::Reason::config_mismatch,
            model::Fingerprint::file_store_not_shared, model::VerdictState::ticket);
    }
  }
  for (state::Claim& odd : odd_ones()) claims.push_back(std::move(odd));
  for (const Accusations::Named& named : accusations_.named(now)) {
    claim(model::Kind::node, named.member, model::Reason::data_corruption,
          model::Fingerprint::data_corruption,
          named.again ? model::VerdictState::page : model::VerdictState::suspect);
  }
  for (const std::string& name : board_.names()) {
    const auto skew = wall_skew_seconds(name);
    if (skew && std::abs(*skew) > kClockSkewSeconds) {
      claim(model::Kind::misconfig, name, model::Reason::clock_skew, model::Fingerprint::none,
            model::VerdictState::ticket);
    }
  }
  return claims;
}

std::optional<double> Agent::wall_skew_seconds(const std::string& name) const {
  const auto wall =
      std::chrono::duration_cast<Millis>(std::chrono::system_clock::now().time_since_epoch());
  const double own = static_cast<double>(wall.count() - clock_.round_ms(Clock::now()));
  std::vector<double> offsets{own};
  std::optional<double> wanted;
  if (name == config_.node) wanted = own;
  for (const auto& [peer, facts] : facts_) {
    if (!facts.wall_offset_ms) continue;
    offsets.push_back(static_cast<double>(*facts.wall_offset_ms));
    if (peer == name) wanted = static_cast<double>(*facts.wall_offset_ms);
  }
  // With two clocks nobody can say whose is wrong.
  if (!wanted || offsets.size() < 3) return std::nullopt;
  std::nth_element(offsets.begin(), offsets.begin() + static_cast<long>(offsets.size() / 2),
                   offsets.end());
  return (*wanted - offsets[offsets.size() / 2]) / 1000.0;
}

}  // namespace collwatch::agent
