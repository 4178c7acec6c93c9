// SPDX-License-Identifier: Apache-2.0
//
// Keeps at most one report per observer.
#include "daemon/agent/evidence_board.h"

#include <algorithm>

namespace collwatch::agent {

using attribute::Member;

namespace {

/// Nobody speaks of rounds that have not begun, or of those of weeks ago. A word from the future
/// would outlast every later word that says otherwise. Before our own first round (0) we cannot
/// tell.
std::int64_t plausible(std::int64_t said, std::int64_t now) {
  constexpr std::int64_t kOldest = 1'000'000;
  constexpr std::int64_t kLatest = std::int64_t{1} << 53;
  if (now == 0) return std::clamp<std::int64_t>(said, 0, kLatest);
  return std::clamp(said, now - kOldest, now + 1);
}

}  // namespace

void EvidenceBoard::set_members(std::vector<std::string> names, const std::string& self,
                                std::chrono::milliseconds interval) {
  interval_ = interval;
  names_ = std::move(names);
  hashes_.clear();
  for (const std::string& name : names_) hashes_.push_back(peer::name_hash(name));
  heard_.assign(names_.size(), std::nullopt);
  self_ = index(self).value_or(0);
}

std::optional<Member> EvidenceBoard::index(const std::string& name) const {
  const auto found = std::lower_bound(names_.begin(), names_.end(), name);
  if (found == names_.end() || *found != name) return std::nullopt;
  return static_cast<Member>(found - names_.begin());
}

std::optional<Member> EvidenceBoard::index(std::uint32_t hash) const {
  const auto found = std::find(hashes_.begin(), hashes_.end(), hash);
  if (found == hashes_.end()) return std::nullopt;
  return static_cast<Member>(found - hashes_.begin());
}

void EvidenceBoard::hear(Member observer, const peer::WitnessMessage& message, std::int64_t round,
                         Steady now) {
  Heard heard;
  heard.at = now;
  heard.message = message;
  heard.report.observer = observer;
  heard.report.round = plausible(message.round, round);
  heard.report.local_health = std::clamp(message.local_health, 0, 8);
  heard.report.late = message.late;
  heard.report.cut_off = message.cut_off;
  for (const peer::WitnessMessage::Edge& edge : message.edges) {
    const auto about = index(edge.peer);
    if (!about || *about == observer) continue;
    // One word an edge: the same said twenty times is not twenty words.
    const auto& said = heard.report.edges;
    if (std::any_of(said.begin(), said.end(), [&](const auto& w) { return w.peer == *about; })) {
      continue;
    }
    attribute::EdgeWord word = edge.word;
    word.peer = *about;
    word.round = plausible(word.round, round);
    word.failing_since = plausible(word.failing_since, round);
    heard.report.edges.push_back(word);
  }
  heard_[observer] = std::move(heard);
}

void EvidenceBoard::forget(Member observer) {
  heard_[observer].reset();
}

bool EvidenceBoard::recent(const std::optional<Heard>& heard, Steady now) const {
  return heard && now - heard->at <= interval_ * 2;
}

std::optional<attribute::EdgeWord> EvidenceBoard::word(Member observer, Member peer,
                                                       Steady now) const {
  if (!recent(heard_[observer], now)) return std::nullopt;
  const auto& edges = heard_[observer]->report.edges;
  const auto found = std::find_if(edges.begin(), edges.end(),
                                  [peer](const auto& word) { return word.peer == peer; });
  return found == edges.end() ? std::nullopt : std::optional(*found);
}

bool EvidenceBoard::somebody_reaches(Member peer, Steady now) const {
  for (Member observer = 0; observer < heard_.size(); ++observer) {
    const auto said = word(observer, peer, now);
    if (said && said->state == attribute::EdgeState::ok) return true;
  }
  return false;
}

std::optional<peer::WitnessMessage> EvidenceBoard::last(Member observer) const {
  if (!heard_[observer]) return std::nullopt;
  return heard_[observer]->message;
}

attribute::Evidence EvidenceBoard::evidence(attribute::ObserverReport own,
                                            std::vector<bool> expected, Steady now) const {
  attribute::Evidence evidence;
  evidence.self = self_;
  evidence.members = static_cast<std::uint32_t>(names_.size());
  evidence.round = own.round;
  evidence.expected = std::move(expected);
  for (const auto& heard : heard_) {
    if (heard && now - heard->at <= interval_ * 2) evidence.reports.push_back(heard->report);
  }
  evidence.reports.push_back(std::move(own));
  return evidence;
}

}  // namespace collwatch::agent
