// SPDX-License-Identifier: Apache-2.0
//
// Events end up as lines, and a disk in trouble costs lines, never the caller's time.
#include "exporters/jsonl/event_log.h"

#include <sys/stat.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "tests/golden/sample_snapshot.h"
#include "tests/support/catch.h"
#include "tests/unit/jsonl/temp_folder.h"

using namespace collwatch;
using exporters::EventLog;
using test::lines;
using test::TempFolder;

TEST_CASE("events are written in order, all of them before the log is gone") {
  TempFolder folder;
  const auto path = folder / "events.jsonl";
  auto event = test::sample_snapshot().recent_events.back();
  {
    auto log = EventLog::open(path, 1 << 20);
    REQUIRE(log);
    for (int i = 0; i < 200; ++i) {
      event.text = "event " + std::to_string(i);
      (*log)->append(event);
    }
    CHECK((*log)->lost() == 0);
  }
  const auto written = lines(path);
  REQUIRE(written.size() == 200);
  for (int i = 0; i < 200; ++i) {
    const auto json = nlohmann::json::parse(written[static_cast<std::size_t>(i)]);
    CHECK(json["text"] == "event " + std::to_string(i));
    CHECK(json["entity"] == "node-c");
  }
}

TEST_CASE("a path that cannot be used is said at once") {
  TempFolder folder;
  const auto log = EventLog::open(folder / "no/such/events.jsonl", 1 << 20);
  REQUIRE_FALSE(log);
  CHECK(log.error().text == "event log: cannot open '" + (folder / "no/such/events.jsonl") +
                                "': No such file or directory");
}

TEST_CASE("events that a full disk refuses are counted") {
  auto log = EventLog::open("/dev/full", 1 << 20);
  REQUIRE(log);
  const auto event = test::sample_snapshot().recent_events.front();
  for (int i = 0; i < 5; ++i) (*log)->append(event);
  while ((*log)->lost() < 5) usleep(100);  // ends by the test's own time limit when it never comes
  CHECK((*log)->lost() == 5);
}

TEST_CASE("a burst beyond the queue is counted as lost or written, never blocks and never grows") {
  TempFolder folder;
  const auto path = folder / "events.jsonl";
  const auto event = test::sample_snapshot().recent_events.front();
  std::uint64_t lost = 0;
  constexpr std::uint64_t kBurst = 20000;
  {
    auto log = EventLog::open(path, 64 << 20);
    REQUIRE(log);
    for (std::uint64_t i = 0; i < kBurst; ++i) (*log)->append(event);
    lost = (*log)->lost();
  }
  CHECK(lines(path).size() + lost == kBurst);
}
