// SPDX-License-Identifier: Apache-2.0
//
// How far a dial came, and the reason that follows: the table of docs/peer-protocol.md.
#include "daemon/peer/dial_reason.h"

#include <cerrno>

#include "tests/support/catch.h"
#include "tests/unit/peer/sample_messages.h"

using namespace collwatch;
using model::Reason;
using peer::CallStage;

namespace {

struct Row {
  const char* what;
  CallStage stage;
  int sys_errno;
  bool timed_out;
  bool protocol_error;
  std::optional<Reason> witness_silent;
  std::optional<Reason> witness_heard;
};

peer::CallResult answered(model::WorkerState worker, std::optional<Reason> trouble = {}) {
  peer::CallResult result;
  result.stage = CallStage::done;
  result.reply = samples::reply(std::monostate{});
  result.reply->from.worker = worker;
  result.reply->from.worker_trouble = trouble;
  return result;
}

}  // namespace

TEST_CASE("a dial that got no answer") {
  constexpr auto kConnecting = CallStage::connecting;
  constexpr auto kChallenge = CallStage::challenged_awaited;
  constexpr auto kReply = CallStage::reply_awaited;
  const Row rows[] = {
      {"refused", kConnecting, ECONNREFUSED, false, false, Reason::agent_down, Reason::refused},
      {"reset", kConnecting, ECONNRESET, false, false, Reason::agent_down, Reason::refused},
      {"SYN lost", kConnecting, 0, true, false, Reason::unreachable, Reason::unreachable},
      {"kernel's timeout", kConnecting, ETIMEDOUT, false, false, Reason::unreachable,
       Reason::unreachable},
      {"no route", kConnecting, EHOSTUNREACH, false, false, Reason::unreachable,
       Reason::unreachable},
      {"no network", kConnecting, ENETUNREACH, false, false, Reason::unreachable,
       Reason::unreachable},
      {"our descriptors", kConnecting, EMFILE, false, false, {}, {}},
      {"our address", kConnecting, EADDRNOTAVAIL, false, false, {}, {}},
      {"our firewall", kConnecting, EPERM, false, false, {}, {}},
      {"never accepted", kChallenge, 0, true, false, Reason::host_stall, Reason::host_stall},
      {"never answered", kReply, 0, true, false, Reason::host_stall, Reason::host_stall},
      {"died meanwhile", kChallenge, ECONNRESET, false, false, Reason::agent_down, Reason::refused},
      {"died meanwhile", kReply, EPIPE, false, false, Reason::agent_down, Reason::refused},
      {"cut off", kReply, EHOSTUNREACH, false, false, Reason::unreachable, Reason::unreachable},
      {"closed: full", kChallenge, 0, false, false, {}, {}},
      {"closed: token", kReply, 0, false, false, {}, {}},
      {"a stranger", kChallenge, 0, false, true, {}, {}},
      {"bad MAC", kReply, 0, false, true, {}, {}},
  };
  for (const Row& row : rows) {
    INFO(row.what);
    peer::CallResult result;
    result.stage = row.stage;
    result.sys_errno = row.sys_errno;
    result.timed_out = row.timed_out;
    result.protocol_error = row.protocol_error;
    CHECK(peer::dial_reason(result, false) == row.witness_silent);
    CHECK(peer::dial_reason(result, true) == row.witness_heard);
  }
}

TEST_CASE("a dial that was answered speaks of the worker") {
  using model::WorkerState;
  for (const bool heard : {false, true}) {
    CHECK(peer::dial_reason(answered(WorkerState::absent), heard) == Reason::worker_crash);
    CHECK(peer::dial_reason(answered(WorkerState::starting), heard) == Reason::worker_crash);
    CHECK(peer::dial_reason(answered(WorkerState::stuck), heard) == Reason::worker_stuck);
    CHECK_FALSE(peer::dial_reason(answered(WorkerState::running), heard));
  }
}

TEST_CASE("its own daemon's word about its worker wins") {
  using model::WorkerState;
  CHECK(peer::dial_reason(answered(WorkerState::running, Reason::worker_crash), true) ==
        Reason::worker_crash);
  CHECK(peer::dial_reason(answered(WorkerState::starting, Reason::worker_stuck), false) ==
        Reason::worker_stuck);
}
