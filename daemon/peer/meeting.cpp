// SPDX-License-Identifier: Apache-2.0
//
// The transitions drawn in the header.
#include "daemon/peer/meeting.h"

#include <algorithm>
#include <utility>

namespace collwatch::peer {

namespace {

Refusal superseded() {
  return {RefusalReason::superseded, "a newer meeting came in"};
}

std::string join_names(const std::vector<std::string>& names) {
  std::string joined;
  for (const std::string& name : names) joined += (joined.empty() ? "" : ", ") + name;
  return joined;
}

}  // namespace

Answers GroupMeeting::join(const std::string& name, Ticket ticket, MeetingTime now,
                           const std::string& held) {
  Answers answers = expire(now);
  if (phase_ == Phase::fixed) {
    if (!places_.contains(name)) {
      answers.push_back({ticket, Refusal{RefusalReason::timeout,
                                         "this meeting's members are fixed; join the next one"}});
      return answers;
    }
    refuse_waiting(superseded(), answers);
    reset();
  }
  if (phase_ == Phase::idle) {
    phase_ = Phase::gathering;
    until_ = now + kMeetingPatience;
  }
  Place& place = places_[name];
  if (place.waiting) answers.push_back({*place.waiting, superseded()});
  place.waiting = ticket;
  place.held = held;
  if (everybody_is_here()) {
    Answers fixed = fix(now);
    answers.insert(answers.end(), std::make_move_iterator(fixed.begin()),
                   std::make_move_iterator(fixed.end()));
  }
  return answers;
}

Answers GroupMeeting::blob(const std::string& name, Ticket ticket, const std::string& context_id,
                           Blob blob, MeetingTime now) {
  Answers answers = expire(now);
  if (phase_ != Phase::fixed || context_id != context_id_) {
    answers.push_back({ticket, Refusal{RefusalReason::superseded, "that meeting is over"}});
    return answers;
  }
  const auto place = places_.find(name);
  if (place == places_.end()) {
    answers.push_back(
        {ticket, Refusal{RefusalReason::not_in_group, "not a member of this meeting"}});
    return answers;
  }
  if (place->second.waiting) answers.push_back({*place->second.waiting, superseded()});
  place->second.waiting = ticket;
  place->second.blob = std::move(blob);
  const bool all = std::all_of(places_.begin(), places_.end(),
                               [](const auto& p) { return p.second.blob.has_value(); });
  if (!all) return answers;
  Answers met = complete();
  answers.insert(answers.end(), std::make_move_iterator(met.begin()),
                 std::make_move_iterator(met.end()));
  return answers;
}

Answers GroupMeeting::expire(MeetingTime now) {
  if (phase_ == Phase::idle || now < until_) return {};
  if (phase_ == Phase::gathering) return fix(now);
  std::vector<std::string> silent;
  for (const auto& [name, place] : places_) {
    if (!place.blob) silent.push_back(name);
  }
  return cancel({RefusalReason::timeout, "no address came from " + join_names(silent)});
}

Answers GroupMeeting::cancel(const Refusal& why) {
  Answers answers;
  refuse_waiting(why, answers);
  reset();
  return answers;
}

std::optional<MeetingTime> GroupMeeting::deadline() const {
  if (phase_ == Phase::idle) return std::nullopt;
  return until_;
}

bool GroupMeeting::everybody_is_here() const {
  return !expected_.empty() &&
         std::all_of(expected_.begin(), expected_.end(),
                     [&](const std::string& name) { return places_.contains(name); });
}

/// The member list is what it is now; everybody is told its rank. A lone member has nobody to meet.
Answers GroupMeeting::fix(MeetingTime now) {
  GroupFixed fixed;
  const bool again = all_hold_the_last();
  fixed.context_id = context_id_ = again ? last_id_ : ids_.next();
  for (const auto& [name, place] : places_) fixed.members.push_back(name);
  for (const std::string& name : expected_) {
    if (!places_.contains(name)) fixed.missing.push_back(name);
  }
  std::sort(fixed.missing.begin(), fixed.missing.end());
  phase_ = Phase::fixed;
  until_ = now + kMeetingPatience;
  Answers answers;
  for (auto& [name, place] : places_) {
    answers.push_back({*std::exchange(place.waiting, std::nullopt), fixed});
    ++fixed.rank;
  }
  last_id_ = fixed.context_id;
  last_members_ = fixed.members;
  if (again || places_.size() == 1) reset();
  return answers;
}

bool GroupMeeting::all_hold_the_last() const {
  if (last_id_.empty() || places_.size() != last_members_.size()) return false;
  return std::all_of(last_members_.begin(), last_members_.end(), [&](const std::string& name) {
    const auto place = places_.find(name);
    return place != places_.end() && place->second.held == last_id_;
  });
}

Answers GroupMeeting::complete() {
  GroupMet met;
  for (auto& [name, place] : places_) met.blobs.push_back(std::move(*place.blob));
  Answers answers;
  for (const auto& [name, place] : places_) answers.push_back({*place.waiting, met});
  reset();
  return answers;
}

void GroupMeeting::refuse_waiting(const Refusal& why, Answers& answers) {
  for (auto& [name, place] : places_) {
    if (place.waiting) answers.push_back({*place.waiting, why});
    place.waiting.reset();
  }
}

void GroupMeeting::reset() {
  phase_ = Phase::idle;
  context_id_.clear();
  places_.clear();
}

}  // namespace collwatch::peer
