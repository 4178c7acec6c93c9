// SPDX-License-Identifier: Apache-2.0
//
// The host's side of meetings as pure state machines: who came, until when, who is answered what.
// The host is the lowest name; its own worker takes part like any other joiner. Used by the agent,
// which maps tickets to Responders (or to its own worker) and runs one timer per machine on
// deadline(). Time is passed in, nothing is sent from here.
//
//   GroupMeeting   idle --join--> gathering --all expected, or 300 ms--> fixed --all blobs--> idle
//                                     |                                    |---300 ms: refused--^
//
// A meeting of two needs no machine: the lower name answers as soon as its own worker has an
// address.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "daemon/peer/message.h"

namespace collwatch::peer {

using MeetingTime = std::chrono::steady_clock::time_point;
inline constexpr std::chrono::milliseconds kMeetingPatience{300};

/// The caller's handle for one waiting participant; answered exactly once.
using Ticket = std::uint64_t;

/// "Give this one this reply."
struct Answer {
  Ticket to = 0;
  decltype(Reply::body) body;
};
using Answers = std::vector<Answer>;

/// Context ids that no meeting of this host ever gets twice (a stale one breaks Gloo).
class ContextIds {
 public:
  explicit ContextIds(std::string incarnation) : incarnation_(std::move(incarnation)) {}
  std::string next() { return incarnation_ + "-" + std::to_string(++count_); }

 private:
  std::string incarnation_;
  std::uint64_t count_ = 0;
};

/// Meetings of one group, one after the other; the newest wins.
class GroupMeeting {
 public:
  explicit GroupMeeting(ContextIds& ids) : ids_(ids) {}

  /// Who is waited for, the host included; others who join take part as well. Read at each join
  /// and when the time is up. Empty: always wait the whole time.
  void set_expected(std::vector<std::string> names) { expected_ = std::move(names); }

  /// `name` wants to take part. Joining twice replaces the older ticket (refused: superseded).
  /// While blobs are being collected, a member's join starts a new meeting (the older one is
  /// superseded); anybody else came too late for this one and is refused (timeout).
  /// `held`: the context this joiner still has. If all joiners hold the context that was fixed last
  /// and none of its members is missing, the answer names it again and no addresses are exchanged.
  Answers join(const std::string& name, Ticket ticket, MeetingTime now,
               const std::string& held = "");
  /// `name`'s address for the fixed context. A wrong context id is refused as superseded.
  Answers blob(const std::string& name, Ticket ticket, const std::string& context_id, Blob blob,
               MeetingTime now);
  /// What is due at `now`.
  Answers expire(MeetingTime now);
  /// Refuses everybody who waits and ends the meeting (own worker gone, shutting down).
  Answers cancel(const Refusal& why);
  /// When expire() next has something to do.
  std::optional<MeetingTime> deadline() const;

 private:
  enum class Phase { idle, gathering, fixed };
  struct Place {
    std::optional<Ticket> waiting;
    std::optional<Blob> blob;
    std::string held;
  };

  bool everybody_is_here() const;
  bool all_hold_the_last() const;
  Answers fix(MeetingTime now);
  Answers complete();
  void refuse_waiting(const Refusal& why, Answers& answers);
  void reset();

  ContextIds& ids_;
  std::vector<std::string> expected_;
  Phase phase_ = Phase::idle;
  MeetingTime until_;
  std::string context_id_;
  std::map<std::string, Place> places_;  ///< by name: the order of the ranks
  std::string last_id_;                  ///< fixed last
  std::vector<std::string> last_members_;
};

}  // namespace collwatch::peer
