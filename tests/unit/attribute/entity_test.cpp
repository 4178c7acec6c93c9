// SPDX-License-Identifier: Apache-2.0
//
// Spelling of entities, the ear of an edge, and an agent's opinion of itself.
#include "daemon/attribute/explain.h"
#include "daemon/attribute/local_health.h"
#include "tests/support/catch.h"

namespace {

using namespace collwatch;
using namespace collwatch::attribute;
using std::chrono::milliseconds;

TEST_CASE("entities are spelled as published") {
  const std::vector<std::string> names = {"a", "b", "c"};
  CHECK(entity({model::Kind::node, 2, 2, {}}, names) == "c");
  CHECK(entity({model::Kind::node_egress, 1, 1, {}}, names) == "b");
  CHECK(entity({model::Kind::self, 0, 0, {}}, names) == "a");
  CHECK(entity({model::Kind::link, 2, 0, {}}, names) == "a<->c");
  CHECK(entity({model::Kind::directed_link, 2, 0, {}}, names) == "c->a");
  CHECK(entity({model::Kind::partition, 0, 0, {2, 1}}, names) == "b,c");
  CHECK(entity({model::Kind::node, 9, 9, {}}, names) == "?");
}

TEST_CASE("a datagram from before the failure proves nothing after it") {
  struct Row {
    std::int64_t age, failing_for;
    Heard expected;
  };
  for (const Row& row :
       {Row{-1, -1, Heard::unknown}, Row{-1, 900, Heard::unknown}, Row{300, -1, Heard::heard},
        Row{1100, -1, Heard::heard}, Row{1101, -1, Heard::silent}, Row{300, 500, Heard::heard},
        Row{500, 500, Heard::unknown}, Row{900, 500, Heard::unknown}, Row{1101, 500, Heard::silent},
        Row{1101, 5000, Heard::silent}}) {
    INFO(row.age << " " << row.failing_for);
    CHECK(hearing(row.age, row.failing_for, 1000) == row.expected);
  }
}

TEST_CASE("local health rises with signs and falls with clean rounds") {
  LocalHealth health;
  CHECK(health.step({}) == 0);
  CHECK(health.stretch() == 1.0);
  HealthSigns late;
  late.loop_late = milliseconds{101};
  CHECK(health.step(late) == 1);
  late.worker_late = milliseconds{101};
  late.missed_round = true;
  CHECK(health.step(late) == 4);
  CHECK(health.stretch() == 3.0);
  CHECK_FALSE(health.muted());
  HealthSigns alone;
  alone.alone_in_failing = true;
  CHECK(health.step(alone) == 6);
  CHECK(health.muted());
  HealthSigns refuted;
  refuted.refuted = 5;
  CHECK(health.step(refuted) == kWorstHealth);
  CHECK(health.step({}) == 7);
  HealthSigns tolerable;
  tolerable.loop_late = milliseconds{100};
  CHECK(health.step(tolerable) == 6);
}

TEST_CASE("a freeze mutes at once and takes clean rounds to forget") {
  LocalHealth health;
  HealthSigns frozen;
  frozen.loop_late = milliseconds{2000};
  CHECK(health.step(frozen) == kWorstHealth);
  CHECK(health.muted());
  int rounds = 0;
  while (health.muted()) {
    health.step({});
    ++rounds;
  }
  CHECK(rounds == 3);
  health.tilt();
  CHECK(health.score() == kWorstHealth);
}

TEST_CASE("an observer's weight falls with its health") {
  CHECK(weight(0) == 1.0);
  CHECK(weight(1) == 0.5);
  CHECK(weight(5) == Approx(1.0 / 6));
  CHECK(weight(6) == 0);
  CHECK(weight(8) == 0);
  CHECK(weight(-1) == 1.0);
}

}  // namespace
