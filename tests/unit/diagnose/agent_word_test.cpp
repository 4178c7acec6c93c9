// SPDX-License-Identifier: Apache-2.0
//
// What an agent's word is worth for a log: nothing, where it did not watch at the time or watches
// other hosts; and a fault that the job lived with is not what broke it.
#include "daemon/diagnose/agent_word.h"

#include "tests/support/catch.h"
#include "tests/unit/diagnose/cases.h"

using namespace collwatch;
using Catch::Matchers::ContainsSubstring;
using namespace collwatch::diagnose;

namespace {

constexpr double kNow = 1700000000;  // 2023-11-14T22:13:20Z

const std::string kTimeout =
    " [rank0]: RuntimeError: [../gloo/transport/tcp/unbound_buffer.cc:81] Timed out waiting "
    "10000ms for recv operation to complete\n";
const std::string kLost =
    " [rank0]: RuntimeError: [../gloo/transport/tcp/pair.cc:534] Connection closed by peer "
    "[10.0.0.3]:20813\n";

AgentWord quiet(std::int64_t clean_rounds) {
  AgentWord word;
  word.answered = true;
  word.node = "node-a";
  word.round = word.clean_rounds.emplace(clean_rounds);
  word.asked_at = kNow;
  word.members = {"node-a", "node-b", "node-c"};
  return word;
}

AgentWord accusing(const std::string& reason, const std::string& since) {
  AgentWord word = quiet(0);
  word.verdicts = {{"node", "node-c", reason, "none", "page", since, std::nullopt}};
  return word;
}

AgentWord joined(const std::string& log, AgentWord word) {
  auto diagnosis = engine().run_text(log, "rank0.log");
  REQUIRE(diagnosis.has_value());
  join(*diagnosis, std::move(word));
  return *diagnosis->agent;
}

bool says(const AgentWord& word, const std::string& text) {
  return word.text.find(text) != std::string::npos;
}

}  // namespace

TEST_CASE("an agent that has been clean since after the log does not clear the network") {
  const AgentWord old = joined("2023-11-13T22:00:00Z" + kTimeout, quiet(120));
  CHECK(old.relation == Relation::blind);
  CHECK(says(old, "2023-11-14T22:11:20Z"));
  CHECK(joined("2023-11-14T22:12:30Z" + kTimeout, quiet(120)).relation == Relation::clean);
  // The zone counts, not the hour as written.
  CHECK(joined("2023-11-14T23:12:30+01:00" + kTimeout, quiet(120)).relation == Relation::clean);
  CHECK(joined("2023-11-14T22:12:30+01:00" + kTimeout, quiet(120)).relation == Relation::blind);
  // Without a zone there is nothing to compare.
  CHECK(joined("2023-11-13 22:00:00" + kTimeout, quiet(120)).relation == Relation::clean);
}

TEST_CASE("a log without a finding is compared by its own times") {
  const std::string yesterday = "2023-11-13T22:00:00Z all is well\n";
  CHECK(joined(yesterday, quiet(120)).relation == Relation::blind);
  CHECK(joined("2023-11-14T22:12:30Z all is well\n", quiet(120)).relation == Relation::clean);
  CHECK(joined(yesterday + "2023-11-14T22:12:30Z all is well\n", quiet(120)).relation ==
        Relation::clean);
}

TEST_CASE("of a log from the future no agent can tell anything") {
  const std::string log = "2023-11-15T22:00:00Z" + kTimeout;
  CHECK(joined(log, quiet(120)).relation == Relation::blind);
  const AgentWord word = joined(log, accusing("host_stall", "2023-11-14T22:00:00Z"));
  CHECK(word.relation == Relation::blind);
  CHECK(says(word, "later than now"));
}

TEST_CASE("a fault that the job trained with is not what broke it") {
  const AgentWord stall = accusing("host_stall", "2023-11-14T20:00:00Z");
  const std::string start = "2023-11-14T22:00:00Z [rank0]: start\n";
  const std::string step = "2023-11-14T22:05:00Z [rank0]: step 120 loss 1.5\n";
  const std::string end = "2023-11-14T22:10:00Z";
  const AgentWord trained = joined(start + step + end + kTimeout, stall);
  CHECK(trained.relation == Relation::beside);
  CHECK(says(trained, "host_stall"));
  CHECK(joined(start + end + kLost, stall).relation == Relation::beside);
  // A job that never got anywhere may well have waited for it.
  CHECK(joined(start + end + kTimeout, stall).relation == Relation::culprit);
  // And so may one that the fault met under way.
  const AgentWord later = accusing("host_stall", "2023-11-14T22:09:00Z");
  CHECK(joined(start + step + end + kTimeout, later).relation == Relation::culprit);
  // Another that does explain it is not overlooked.
  AgentWord both = stall;
  both.verdicts.push_back(later.verdicts.front());
  both.verdicts.back().entity = "node-b";
  const AgentWord second = joined(start + step + end + kTimeout, both);
  CHECK(second.relation == Relation::culprit);
  CHECK(says(second, "node node-b"));
}

TEST_CASE("who never joined was not lost in mid-job") {
  const AgentWord absent = accusing("never_joined", "2023-11-14T22:00:00Z");
  const AgentWord lost = joined("2023-11-14T22:10:00Z" + kLost, absent);
  CHECK(lost.relation == Relation::beside);
  CHECK(says(lost, "never joined"));
  CHECK(joined("later" + kLost, absent).relation == Relation::beside);
  CHECK(joined("2023-11-14T22:10:00Z" + kTimeout, absent).relation == Relation::culprit);
}

TEST_CASE("an agent of another ring is no witness") {
  const auto of_host = [](const std::string& host, AgentWord word) {
    auto diagnosis = engine().run_text("2023-11-14T22:12:30Z" + kTimeout, "rank0.log");
    REQUIRE(diagnosis.has_value());
    diagnosis->mentioned.hosts = {host};
    join(*diagnosis, std::move(word));
    CHECK((diagnosis->agent->relation == Relation::culprit) ==
          diagnosis->verdict.initiating.has_value());
    return *diagnosis->agent;
  };
  const AgentWord stall = accusing("host_stall", "2023-11-14T22:00:00Z");
  const AgentWord other = of_host("gpu-17", stall);
  CHECK(other.relation == Relation::blind);
  CHECK(says(other, "gpu-17"));
  CHECK(of_host("gpu-17", quiet(120)).relation == Relation::blind);
  CHECK(of_host("node-b", stall).relation == Relation::culprit);
  CHECK(of_host("Node-B.cluster.example", stall).relation == Relation::culprit);
  CHECK(of_host("10.0.0.3", stall).relation == Relation::culprit);  // an address names nobody here
  CHECK(of_host("node-b", quiet(120)).relation == Relation::clean);
}

TEST_CASE(
    "a call that the agent's libtorch refuses in the same words is at fault, and nothing else is") {
  const std::string average = " [rank0]: RuntimeError: Cannot use ReduceOp.AVG with Gloo\n";
  AgentWord word = quiet(100);
  word.torch.version = "1.13.0";
  word.torch.refusals = {
      {"Invalid scalar type", {"all_reduce bool sum on cpu"}},
      {"Cannot use ReduceOp.AVG with Gloo", {"all_reduce float avg on cpu", "x"}}};
  const auto why_of = [&](const std::string& log) {
    auto diagnosis = engine().run_text(log, "rank0.log");
    REQUIRE(diagnosis.has_value());
    join(*diagnosis, word);
    std::string all;
    for (const std::string& why : diagnosis->verdict.why) all += why + "\n";
    return all;
  };
  CHECK_THAT(why_of(average),
             ContainsSubstring("libtorch 1.13.0 on node-a") &&
                 ContainsSubstring("all_reduce float avg on cpu and 1 other call"));
  CHECK_THAT(why_of(kTimeout), !ContainsSubstring("libtorch"));
  word.torch.refusals.pop_back();
  CHECK_THAT(why_of(average), !ContainsSubstring("libtorch"));
}
