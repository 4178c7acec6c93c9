// SPDX-License-Identifier: Apache-2.0
//
// The documents field by field, and that nothing in a Snapshot can make one unreadable.
#include "exporters/json/documents.h"

#include <limits>
#include <nlohmann/json.hpp>

#include "exporters/json/time_text.h"
#include "tests/golden/sample_snapshot.h"
#include "tests/support/catch.h"

using namespace collwatch;
using namespace collwatch::exporters;
using nlohmann::json;

TEST_CASE("times are RFC 3339, UTC, with milliseconds, on both sides of 1970") {
  CHECK(rfc3339(test::at_second(0)) == "2023-11-14T22:13:20.000Z");
  CHECK(rfc3339(test::at_second(3, 250)) == "2023-11-14T22:13:23.250Z");
  CHECK(rfc3339(WallTime(std::chrono::milliseconds(-1))) == "1969-12-31T23:59:59.999Z");
  CHECK(rfc3339(WallTime(std::chrono::seconds(951782400))) == "2000-02-29T00:00:00.000Z");
  CHECK(rfc3339(WallTime::max()).size() == 24);
}

TEST_CASE("status carries the agent's whole view") {
  const json status = json::parse(status_json(test::sample_snapshot(), 2));
  CHECK(status["schema"] == 1);
  CHECK(status["node"] == "node-a");
  CHECK(status["version"] == "0.1.0");
  CHECK(status["membership"]["size"] == 4);
  CHECK(status["membership"]["epoch"] == 12);
  CHECK(status["membership"]["hash"] == "5a0f2c1e");
  CHECK(status["membership"]["members"][2] == json({{"name", "node-c"}, {"state", "down"}}));
  CHECK(status["round"] ==
        json({{"number", 402}, {"age_seconds", 2.5}, {"interval_seconds", 1.0}, {"clean", 0}}));
  CHECK(status["local_health"] == 1);
  CHECK(status["edges"][0]["peer"] == "node-b");
  CHECK(status["edges"][0]["outcome"] == "ok");
  CHECK(status["edges"][0]["round_trip_seconds"] == 0.000244140625);
  CHECK(status["edges"][1]["witness"] ==
        json({{"loss", 1.0}, {"heard", false}, {"available", true}}));
  CHECK(status["edges"][2]["outcome"].is_null());
  CHECK(status["edges"][2]["round_trip_seconds"].is_null());
  CHECK(status["collectives"][0]["collective"] == "allreduce");
  CHECK(status["collectives"][0]["at"] == "2023-11-14T22:13:20.000Z");
  CHECK(status["fingerprints"][0]["id"] == "gloo_collective_timeout");
  CHECK(status["fingerprints"][0]["rank"].is_null());
  REQUIRE(status["jobs"].size() == 2);
  CHECK(status["jobs"][0]["job"] == "slurm:4711");
  CHECK(status["jobs"][0]["missing_ranks"] == json::array({10}));
  CHECK(status["jobs"][0]["torch"] == "2.6.0+cu124");
  CHECK(status["jobs"][1]["torch"] == nullptr);
}

TEST_CASE("a verdict carries who, why, how sure and who saw it") {
  const json verdict = json::parse(verdicts_json(test::sample_snapshot()))["verdicts"][0];
  CHECK(verdict == json({{"kind", "node"},
                         {"entity", "node-c"},
                         {"reason", "host_stall"},
                         {"fingerprint", "gloo_collective_timeout"},
                         {"state", "page"},
                         {"confidence", "high"},
                         {"score", 31.25},
                         {"observers", {"node-a", "node-b"}},
                         {"ambiguous_with", json::array()},
                         {"view", "direct"},
                         {"since", "2023-11-14T22:13:23.250Z"}}));
}

TEST_CASE("the short documents are the parts of the long one") {
  const auto s = test::sample_snapshot();
  const json status = json::parse(status_json(s));
  CHECK(json::parse(verdicts_json(s)) ==
        json({{"schema", 1}, {"node", "node-a"}, {"verdicts", status["verdicts"]}}));
  CHECK(json::parse(fingerprints_json(s)) ==
        json({{"schema", 1}, {"node", "node-a"}, {"fingerprints", status["fingerprints"]}}));
}

TEST_CASE("an event is one line: its own fields beside those of what it is about") {
  const auto s = test::sample_snapshot();
  const std::string line = event_line(s.recent_events.back());
  CHECK(line.find('\n') == std::string::npos);
  const json event = json::parse(line);
  CHECK(event["type"] == "verdict");
  CHECK(event["state"] == "page");
  CHECK(event["entity"] == "node-c");
  CHECK(event["time"] == "2023-11-14T22:13:23.250Z");
  CHECK(event["text"] == "node-c does not answer: host stall");
  CHECK(json::parse(events_json(s))["events"].back() == event);
}

TEST_CASE("a cleared verdict says so, whatever state it had") {
  Event event = test::sample_snapshot().recent_events.back();
  event.state = "cleared";
  CHECK(json::parse(event_line(event))["state"] == "cleared");
}

TEST_CASE("a member event names the member and its new state") {
  const json event = json::parse(event_line(test::sample_snapshot().recent_events[2]));
  CHECK(event["type"] == "member");
  CHECK(event["name"] == "node-c");
  CHECK(event["state"] == "down");
}

TEST_CASE("no name and no number can make a document unreadable") {
  Snapshot s = test::sample_snapshot();
  s.node = "a\xff\x80\"\\\n\x01";
  s.members[0].name = std::string("nul\0byte", 8);
  s.edges[0].peer = "\xed\xa0\x80";
  s.edges[0].round_trip_seconds = std::numeric_limits<double>::quiet_NaN();
  s.verdicts[0].entity = "\xf0\x9f";
  s.verdicts[0].score = std::numeric_limits<double>::infinity();
  s.recent_events[0].text = "line\nbreak \xc0\xaf";
  const json status = json::parse(status_json(s));
  CHECK(status["node"] == "a\xEF\xBF\xBD\xEF\xBF\xBD\"\\\n\x01");
  CHECK(status["membership"]["members"][0]["name"] == std::string("nul\0byte", 8));
  CHECK(status["edges"][0]["round_trip_seconds"].is_null());
  CHECK(status["verdicts"][0]["score"].is_null());
  CHECK(event_line(s.recent_events[0]).find('\n') == std::string::npos);
  CHECK_NOTHROW(json::parse(events_json(s)));
}

TEST_CASE("an error is a document too") {
  CHECK(json::parse(error_json("no \"such\" page")) ==
        json({{"schema", 1}, {"error", "no \"such\" page"}}));
}
