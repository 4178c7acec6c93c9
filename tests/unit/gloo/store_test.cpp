// SPDX-License-Identifier: Apache-2.0
//
// The store that Gloo sees: publishes once, answers from the meeting, never outlives its deadline,
// and can be told to let go.
#include "probes/gloo/store.h"

#include <future>

#include "tests/support/catch.h"

using namespace collwatch::gloo_probe;
using collwatch::model::Outcome;
using collwatch::wire::Blob;
using Clock = MeetingStore::Clock;
using namespace std::chrono_literals;

namespace {

struct Fixture {
  std::vector<Blob> published;
  std::vector<Blob> connected;
  MeetingStore store;

  explicit Fixture(Clock::duration until_deadline)
      : store(MeetingStore::Options{
            1, 3, Clock::now() + until_deadline,
            [this](const Blob& record) { published.push_back(record); },
            [this](const Blob&, const Blob& theirs) { connected.push_back(theirs); }}) {}
};

Outcome outcome_of_get(MeetingStore& store) {
  try {
    (void)store.get("0");
  } catch (const ProbeError& error) {
    return error.failure().outcome;
  }
  return Outcome::ok;
}

}  // namespace

TEST_CASE("only our own record is published") {
  Fixture f(10s);
  f.store.set("rank_1", {'h'});
  f.store.set("1", {'r', '1'});
  CHECK(f.published == std::vector<Blob>{{'r', '1'}});
  CHECK(f.store.get("1") == Blob{'r', '1'});
}

TEST_CASE("host names are answered at once, without a meeting") {
  Fixture f(10s);
  CHECK_FALSE(f.store.get("rank_0").empty());
  f.store.wait({"rank_0", "1"}, 30s);
}

TEST_CASE("the others' records block until the meeting's result, which then stands") {
  Fixture f(10s);
  auto record = std::async(std::launch::async, [&] {
    f.store.wait({"0"}, 1ms);  // Gloo's own timeout does not count
    return f.store.get("0");
  });
  f.store.deliver({{'r', '0'}, {}, {'r', '2'}});
  CHECK(record.get() == Blob{'r', '0'});
  f.store.deliver({{'x'}, {'x'}, {'x'}});
  CHECK(f.store.get("2") == Blob{'r', '2'});
  CHECK(f.connected == std::vector<Blob>{{'r', '0'}, {'r', '2'}});
}

TEST_CASE("no meeting before the deadline is never_joined") {
  Fixture f(1ms);
  CHECK(outcome_of_get(f.store) == Outcome::never_joined);
}

TEST_CASE("a result that comes after the deadline is never_joined, too") {
  Fixture f(0s);
  f.store.deliver({{'r', '0'}, {}, {'r', '2'}});
  CHECK(outcome_of_get(f.store) == Outcome::never_joined);
  CHECK(f.connected.empty());
}

TEST_CASE("a refused meeting has the refusal's outcome") {
  Fixture f(10s);
  f.store.refuse({Outcome::mismatch, collwatch::wire::Half::none, "other build"});
  CHECK(outcome_of_get(f.store) == Outcome::mismatch);
}

TEST_CASE("an interrupt frees whoever waits and whoever comes later") {
  Fixture f(1h);
  auto waiting = std::async(std::launch::async, [&] { f.store.wait({"0", "2"}); });
  f.store.interrupt();
  CHECK_THROWS_AS(waiting.get(), Interrupted);
  CHECK_THROWS_AS(f.store.get("0"), Interrupted);
}

TEST_CASE("keys that Gloo never used before are refused, not waited for") {
  Fixture f(1h);
  CHECK_THROWS_AS(f.store.get("7"), ProbeError);
  CHECK_THROWS_AS(f.store.get("0x"), ProbeError);
}
