// SPDX-License-Identifier: Apache-2.0
//
// Group meetings as tables of events: who is answered what, and when.
#include "daemon/peer/meeting.h"

#include <set>

#include "tests/support/catch.h"

using namespace collwatch;
using namespace std::chrono_literals;
using peer::Answers;
using peer::RefusalReason;
using peer::Ticket;

namespace {

/// One event, and the answers it must cause: "ticket:what", in the order of the tickets.
struct Step {
  std::chrono::milliseconds at;
  char event;  ///< j = join, b = blob for the latest context, e = expire, c = cancel
  std::string name;
  Ticket ticket;
  std::set<std::string> answers;
};

std::string spell(const peer::Answer& answer) {
  const std::string to = std::to_string(answer.to) + ":";
  if (const auto* fixed = std::get_if<peer::GroupFixed>(&answer.body)) {
    std::string text = to + "rank" + std::to_string(fixed->rank) + " of";
    for (const auto& name : fixed->members) text += " " + name;
    for (const auto& name : fixed->missing) text += " -" + name;
    return text;
  }
  if (const auto* met = std::get_if<peer::GroupMet>(&answer.body)) {
    std::string text = to + "met";
    for (const auto& blob : met->blobs) text += " " + std::string(blob.begin(), blob.end());
    return text;
  }
  const auto* refusal = std::get_if<peer::Refusal>(&answer.body);
  return to + (refusal != nullptr ? std::string(model::name(refusal->reason)) : "nothing");
}

class Table {
 public:
  explicit Table(std::vector<std::string> expected) { meeting.set_expected(std::move(expected)); }

  void run(const std::vector<Step>& steps) {
    for (std::size_t i = 0; i < steps.size(); ++i) {
      INFO("step " << i << ": " << steps[i].event << " " << steps[i].name);
      CHECK(spelled(apply(steps[i])) == steps[i].answers);
    }
  }

  std::set<std::string> spelled(const Answers& answers) {
    std::set<std::string> all;
    for (const auto& answer : answers) {
      all.insert(spell(answer));
      if (const auto* fixed = std::get_if<peer::GroupFixed>(&answer.body)) {
        context_id = fixed->context_id;
      }
    }
    CHECK(all.size() == answers.size());
    return all;
  }

  Answers apply(const Step& step) {
    const peer::MeetingTime now = start + step.at;
    const peer::Blob blob(step.name.begin(), step.name.end());
    switch (step.event) {
      case 'j':
        return meeting.join(step.name, step.ticket, now, held[step.name]);
      case 'b':
        return meeting.blob(step.name, step.ticket, context_id, blob, now);
      case 'c':
        return meeting.cancel({RefusalReason::no_worker, "gone"});
      default:
        return meeting.expire(now);
    }
  }

  peer::MeetingTime start{1h};
  peer::ContextIds ids{"inc"};
  peer::GroupMeeting meeting{ids};
  std::string context_id;
  std::map<std::string, std::string> held;
};

}  // namespace

TEST_CASE("all expected joiners are fixed at once, in the order of their names") {
  Table table({"a", "b", "c"});
  table.run({{0ms, 'j', "b", 1, {}},
             {5ms, 'j', "c", 2, {}},
             {9ms, 'j', "a", 3, {"1:rank1 of a b c", "2:rank2 of a b c", "3:rank0 of a b c"}},
             {12ms, 'b', "c", 4, {}},
             {13ms, 'b', "a", 5, {}},
             {14ms, 'b', "b", 6, {"4:met a b c", "5:met a b c", "6:met a b c"}}});
  CHECK_FALSE(table.meeting.deadline());
}

TEST_CASE("who does not join in 300 ms is missing, and the others go on without it") {
  Table table({"a", "b", "c"});
  table.run({{0ms, 'j', "c", 1, {}}, {100ms, 'j', "a", 2, {}}, {299ms, 'e', "", 0, {}}});
  CHECK(table.meeting.deadline() == table.start + 300ms);
  table.run({{300ms, 'e', "", 0, {"2:rank0 of a c -b", "1:rank1 of a c -b"}}});
  CHECK(table.meeting.deadline() == table.start + 600ms);
  table.run({{310ms, 'b', "a", 3, {}}, {320ms, 'b', "c", 4, {"3:met a c", "4:met a c"}}});
}

TEST_CASE("a joiner nobody waited for takes part") {
  Table table({"a", "b"});
  table.run({{0ms, 'j', "d", 1, {}},
             {1ms, 'j', "b", 2, {}},
             {2ms, 'j', "a", 3, {"3:rank0 of a b d", "2:rank1 of a b d", "1:rank2 of a b d"}}});
}

TEST_CASE("without a list of expected names the whole time is waited") {
  Table table({});
  table.run({{0ms, 'j', "a", 1, {}},
             {9ms, 'j', "b", 2, {}},
             {300ms, 'e', "", 0, {"1:rank0 of a b", "2:rank1 of a b"}}});
}

TEST_CASE("a single joiner is told so, and the meeting is over") {
  Table table({"a", "b"});
  table.run({{0ms, 'j', "a", 1, {}}, {300ms, 'e', "", 0, {"1:rank0 of a -b"}}});
  CHECK_FALSE(table.meeting.deadline());
}

TEST_CASE("an address that does not come ends the meeting for those who sent theirs") {
  Table table({"a", "b"});
  table.run({{0ms, 'j', "a", 1, {}},
             {0ms, 'j', "b", 2, {"1:rank0 of a b", "2:rank1 of a b"}},
             {5ms, 'b', "a", 3, {}},
             {299ms, 'e', "", 0, {}},
             {300ms, 'e', "", 0, {"3:timeout"}},
             {301ms, 'b', "b", 4, {"4:superseded"}}});
  const auto answers = table.apply({0ms, 'e', "", 0, {}});
  CHECK(answers.empty());
}

TEST_CASE("joining twice answers the older ticket and counts once") {
  Table table({"a", "b"});
  table.run({{0ms, 'j', "b", 1, {}},
             {50ms, 'j', "b", 2, {"1:superseded"}},
             {60ms, 'j', "a", 3, {"3:rank0 of a b", "2:rank1 of a b"}}});
}

TEST_CASE("a member that joins again while addresses are collected starts the newer meeting") {
  Table table({"a", "b"});
  table.run({{0ms, 'j', "a", 1, {}},
             {1ms, 'j', "b", 2, {"1:rank0 of a b", "2:rank1 of a b"}},
             {2ms, 'b', "a", 3, {}},
             {3ms, 'j', "b", 4, {"3:superseded"}}});
  const std::string older = table.context_id;
  table.run({{4ms, 'b', "a", 5, {"5:superseded"}},
             {5ms, 'j', "a", 6, {"6:rank0 of a b", "4:rank1 of a b"}}});
  CHECK(table.context_id != older);
  table.run({{6ms, 'b', "a", 7, {}}, {7ms, 'b', "b", 8, {"7:met a b", "8:met a b"}}});
}

TEST_CASE("who comes after the members are fixed waits for the next meeting") {
  Table table({"a", "b", "c"});
  table.run({{0ms, 'j', "a", 1, {}},
             {0ms, 'j', "b", 2, {}},
             {300ms, 'e', "", 0, {"1:rank0 of a b -c", "2:rank1 of a b -c"}},
             {310ms, 'j', "c", 3, {"3:timeout"}},
             {320ms, 'b', "c", 4, {"4:not_in_group"}},
             {330ms, 'b', "a", 5, {}},
             {340ms, 'b', "b", 6, {"5:met a b", "6:met a b"}},
             {350ms, 'j', "c", 7, {}}});
}

TEST_CASE("an event that comes late itself finds the overdue decisions made") {
  Table table({"a", "b", "c"});
  table.run({{0ms, 'j', "a", 1, {}},
             {0ms, 'j', "b", 2, {}},
             {400ms, 'j', "c", 3, {"1:rank0 of a b -c", "2:rank1 of a b -c", "3:timeout"}}});
}

TEST_CASE("sending an address twice answers the older ticket") {
  Table table({"a", "b"});
  table.run({{0ms, 'j', "a", 1, {}},
             {0ms, 'j', "b", 2, {"1:rank0 of a b", "2:rank1 of a b"}},
             {5ms, 'b', "a", 3, {}},
             {6ms, 'b', "a", 4, {"3:superseded"}},
             {7ms, 'b', "b", 5, {"4:met a b", "5:met a b"}}});
}

TEST_CASE("cancelling answers everybody who waits") {
  Table table({"a", "b", "c"});
  table.run({{0ms, 'j', "a", 1, {}},
             {0ms, 'j', "b", 2, {}},
             {1ms, 'c', "", 0, {"1:no_worker", "2:no_worker"}},
             {2ms, 'c', "", 0, {}}});
  CHECK_FALSE(table.meeting.deadline());
}

TEST_CASE("members that all still hold the last context get it again, without addresses") {
  Table table({"a", "b"});
  const std::vector<Step> fixed = {{0ms, 'j', "a", 1, {}},
                                   {0ms, 'j', "b", 2, {"1:rank0 of a b", "2:rank1 of a b"}}};
  table.run(fixed);
  table.run({{1ms, 'b', "a", 3, {}}, {2ms, 'b', "b", 4, {"3:met a b", "4:met a b"}}});
  const std::string first = table.context_id;
  table.held = {{"a", first}, {"b", first}};
  table.run(fixed);
  CHECK(table.context_id == first);
  CHECK_FALSE(table.meeting.deadline());

  SECTION("one of them has lost it") {
    table.held["b"] = "";
    table.run(fixed);
    CHECK(table.context_id != first);
  }
  SECTION("one of them is missing") {
    table.run({{0ms, 'j', "a", 1, {}}, {300ms, 'e', "", 0, {"1:rank0 of a -b"}}});
    CHECK(table.context_id != first);
  }
  SECTION("one more has come") {
    table.held["c"] = first;
    table.meeting.set_expected({"a", "b", "c"});
    table.run({{0ms, 'j', "a", 1, {}},
               {0ms, 'j', "b", 2, {}},
               {0ms, 'j', "c", 3, {"1:rank0 of a b c", "2:rank1 of a b c", "3:rank2 of a b c"}}});
    CHECK(table.context_id != first);
  }
}

TEST_CASE("context ids never repeat and carry the host's incarnation") {
  peer::ContextIds ids("inc");
  std::set<std::string> seen;
  for (int i = 0; i < 1000; ++i) seen.insert(ids.next());
  CHECK(seen.size() == 1000);
  CHECK(seen.count("inc-1") == 1);
}

TEST_CASE("whatever the order of events, every ticket is answered exactly once") {
  std::uint64_t random = 12345;
  const auto dice = [&random](std::uint64_t sides) {
    random = random * 6364136223846793005ULL + 1442695040888963407ULL;
    return (random >> 33U) % sides;
  };
  for (int trial = 0; trial < 200; ++trial) {
    Table table({"a", "b", "c", "d"});
    std::map<Ticket, int> answered;
    const auto note = [&](const Answers& answers) {
      table.spelled(answers);
      for (const auto& answer : answers) ++answered[answer.to];
    };
    Ticket ticket = 0;
    std::chrono::milliseconds at{0};
    for (int event = 0; event < 60; ++event) {
      at += std::chrono::milliseconds(dice(120));
      const std::string name(1, static_cast<char>('a' + dice(5)));
      const char kind = "jjbbbe"[dice(6)];
      if (kind != 'e') answered.emplace(++ticket, 0);
      note(table.apply({at, kind, name, ticket, {}}));
    }
    note(table.meeting.cancel({RefusalReason::shutting_down, ""}));
    CHECK(answered.size() == ticket);
    for (const auto& [which, times] : answered) {
      INFO("ticket " << which);
      CHECK(times == 1);
    }
  }
}
