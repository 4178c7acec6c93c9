// SPDX-License-Identifier: Apache-2.0
//
// The latest word of every observer about its own edges, this agent's included, with the time it
// came. Makes the input of one inference: only what is at most two rounds old. Pure; fed by the
// agent.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "daemon/attribute/evidence.h"
#include "daemon/peer/message.h"

namespace collwatch::agent {

class EvidenceBoard {
 public:
  using Steady = std::chrono::steady_clock::time_point;

  /// Sorted names of all configured members; forgets everything said before.
  void set_members(std::vector<std::string> names, const std::string& self,
                   std::chrono::milliseconds interval);

  std::size_t size() const { return names_.size(); }
  attribute::Member self() const { return self_; }
  const std::vector<std::string>& names() const { return names_; }
  const std::string& name(attribute::Member member) const { return names_[member]; }
  std::optional<attribute::Member> index(const std::string& name) const;
  std::optional<attribute::Member> index(std::uint32_t name_hash) const;

  /// A peer's datagram (or the same over TCP). Words about unknown peers are dropped; nobody's word
  /// counts beyond its own edges.
  void hear(attribute::Member observer, const peer::WitnessMessage& message, std::int64_t round,
            Steady now);
  void forget(attribute::Member observer);

  /// What `observer` last said about its edge to `peer`, if that is recent.
  std::optional<attribute::EdgeWord> word(attribute::Member observer, attribute::Member peer,
                                          Steady now) const;
  /// Whether any recent observer has an ok edge to `peer`.
  bool somebody_reaches(attribute::Member peer, Steady now) const;
  std::optional<peer::WitnessMessage> last(attribute::Member observer) const;

  attribute::Evidence evidence(attribute::ObserverReport own, std::vector<bool> expected,
                               Steady now) const;

 private:
  struct Heard {
    attribute::ObserverReport report;
    peer::WitnessMessage message;
    Steady at;
  };
  bool recent(const std::optional<Heard>& heard, Steady now) const;

  std::vector<std::string> names_;
  std::vector<std::uint32_t> hashes_;
  attribute::Member self_ = 0;
  std::vector<std::optional<Heard>> heard_;
  std::chrono::milliseconds interval_{1000};  ///< edge.interval
};

}  // namespace collwatch::agent
