// SPDX-License-Identifier: Apache-2.0
//
// What a Tracker holds, shared by the three files that implement it: tracker.cpp (an update, rise,
// fall), attribution.cpp (which explanation is which verdict), members.cpp (the member list
// changed). Internal to daemon/state.
#pragma once

#include <deque>
#include <map>
#include <string>
#include <vector>

#include "daemon/attribute/evidence.h"
#include "daemon/state/record.h"
#include "daemon/state/tracker.h"
#include "daemon/state/words.h"

namespace collwatch::state {

using attribute::Evidence;
using attribute::Explanation;
using attribute::Member;

/// One sentence: "node n2: unreachable, seen by n0, n1".
std::string sentence(const exporters::Verdict& verdict);

struct Tracker::Impl {
  std::vector<std::string> names;
  double page_score = 15;
  Limits limits;
  std::map<std::string, Record> records;
  std::map<Member, std::deque<double>> episodes;  ///< onsets of worker faults, in seconds
  std::map<Member, std::int64_t> met_in;          ///< round since which a member takes part
  std::int64_t last_blind = INT64_MIN / 2;        ///< round in which self could not judge
  std::vector<exporters::Event> events;           ///< of the update in progress, or of set_members

  struct Frame {
    const Moment& now;
    const Evidence& evidence;
    const std::vector<Explanation>& explanations;
    Words words;
  };

  void emit(const Moment& now, const Record& record, const std::string& state, std::string text);
  void note_blindness(const Moment& now, const Evidence& evidence,
                      const std::vector<Explanation>& explanations);
  bool inferred(const Claim& claim) const;
  void take_claims(const Moment& now, const std::vector<Claim>& claims);
  const Explanation* better_name(const Frame& frame, const Record& record) const;
  void withdraw(const Frame& frame);
  bool recovering(const Record& record, const Words& words) const;
  Record* owner_of(const Frame& frame, const EdgeKey& edge, const attribute::EdgeWord& word);
  bool blind_to(const Frame& frame, const EdgeKey& edge, const attribute::EdgeWord& word) const;
  bool absorb(const Frame& frame, const Explanation& e);
  void take_explanations(const Frame& frame);
  void render_labels(Record& record, const Explanation& e);
  void count_episode(Record& record);
  bool may_page(const Record& record, const Moment& now) const;
  void rise(const Moment& now);
  bool has_fallen(const Frame& frame, const Record& record) const;
  bool edge_blocks(const Frame& frame, const Record& record, const EdgeKey& edge, int& good) const;
  void fall(const Frame& frame);
  Step output();
};

}  // namespace collwatch::state
