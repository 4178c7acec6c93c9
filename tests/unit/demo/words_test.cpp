// SPDX-License-Identifier: Apache-2.0
//
// What the demo prints: the status it reads, the lines, the frame, the sentence, the summary.
#include "daemon/demo/notes.h"
#include "daemon/demo/screen.h"
#include "daemon/demo/summary.h"
#include "tests/unit/demo/recorded.h"

using namespace recorded;
using collwatch::model::Kind;
using collwatch::model::Reason;
using State = collwatch::model::VerdictState;

namespace {

Watcher after_a_stop() {
  Watcher watcher(4, plans({"stop:n2@10s+20s"}));
  say(watcher, 2.0, {0, 1, 2, 3});
  watcher.injected(0, 12.0);
  say(watcher, 12.9, {0, 1, 3}, {stalled("n2", State::suspect)});
  say(watcher, 14.1, {0, 1, 3}, {stalled("n2", State::page)});
  return watcher;
}

}  // namespace

TEST_CASE("a status is read as design 2.6 has it") {
  const auto parsed = parse_status(R"({"schema": 1, "node": "n0", "round": {"number": 7},
    "local_health": 1, "something_new": [],
    "edges": [{"peer": "n1", "outcome": "ok", "round_trip_seconds": 0.0002},
              {"peer": "n2", "outcome": null}],
    "verdicts": [{"kind": "node", "entity": "n2", "reason": "host_stall", "score": 31.2,
      "fingerprint": "gloo_collective_timeout", "state": "page", "view": "direct"}]})");
  REQUIRE(parsed);
  CHECK(parsed->node == "n0");
  CHECK(parsed->round == 7);
  CHECK(parsed->edges[0].outcome == model::Outcome::ok);
  CHECK(parsed->edges[0].round_trip_seconds == 0.0002);
  CHECK_FALSE(parsed->edges[1].outcome);
  REQUIRE(parsed->verdicts.size() == 1);
  CHECK(parsed->verdicts[0].reason == Reason::host_stall);
  CHECK(has(parsed->verdicts[0].json, "\"score\":31.2"));
}

TEST_CASE("a status that is not one says why") {
  for (const char* body : {"", "[]", "{", "{\"node\": 3}", "{\"node\": \"n0\"}"}) {
    CHECK_FALSE(parse_status(body));
  }
  const auto strange = parse_status(R"({"node": "n0", "round": {"number": 1}, "edges": [
    {"peer": "n1", "outcome": "splendid"}], "verdicts": []})");
  REQUIRE_FALSE(strange);
  CHECK(has(strange.error().text, "outcome 'splendid' is unknown"));
}

TEST_CASE("the sentence tells what broke, who said so and how long it took") {
  Watcher watcher = after_a_stop();
  CHECK(sentence(watcher, 2.0, 30.0) ==
        "n2 was stopped at 10.0 s; n0, n1 and n3 named node n2 (host_stall) after 0.9 s and paged "
        "after 2.1 s; nobody else was blamed.");
  watcher.repaired(0, 32.0);
  say(watcher, 43.0, {0, 1, 3});
  CHECK(has(sentence(watcher, 2.0, 60.0), "; all clear 11.0 s after the repair;"));
  say(watcher, 44.0, {0}, {stalled("n1", State::page)});
  CHECK(has(sentence(watcher, 2.0, 60.0), "; wrongly paged: n1."));
}

TEST_CASE("the sentence of a quiet ring") {
  Watcher watcher(4, {});
  CHECK(sentence(watcher, 1.0, 60.0) ==
        "the agents watched each other for 60.0 s; nobody was blamed.");
  Watcher restart(4, plans({"restart:n1"}));
  restart.injected(0, 11.0);
  CHECK(sentence(restart, 1.0, 60.0) == "n1 was restarted at 10.0 s; nobody was blamed.");
}

TEST_CASE("the summary is the object of design 2.1") {
  const Watcher watcher = after_a_stop();
  CHECK(summary_json(watcher) ==
        R"({"faults": [{"spec": "stop:n2@10s+20s", "expected": [{"kind": "node", "entity": "n2", )"
        R"("reason": "host_stall", "state": "page"}], "verdict": {"entity": "n2"}, )"
        R"("seconds_to_suspect": 0.900, "seconds_to_page": 2.100, "seconds_to_clear": null}], )"
        R"("innocent_pages": 0, "wrong_suspects": 0})");
  CHECK(summary_json(Watcher(4, {})) ==
        R"({"faults": [], "innocent_pages": 0, "wrong_suspects": 0})");
}

TEST_CASE("a note is a line and an object") {
  Note note = injected_note(*parse_fault("drop:n1>n2@3s", 4));
  CHECK(json_of(note) == R"({"at": null, "event": "injected", "spec": "drop:n1>n2@3s"})");
  note.at = 3.04;
  CHECK(line_of(note) == "   3.0 s  injected drop:n1>n2@3s: everything from n1 to n2 was dropped");
  Change change{4.0, 0, Change::What::verdict, stalled("n2", State::page)};
  CHECK(change_note(change).text == "n0 pages node n2 (host_stall)");
  change.verdict.kind = Kind::self;
  CHECK(change_note(change).text == "n0 doubts itself: host_stall");
}

TEST_CASE("an agent's opinion fits its column") {
  CHECK(in_words(status(0), 30) == "all well");
  const AgentStatus s = status(0, {stalled("n1", State::suspect), stalled("n2", State::page)});
  CHECK(in_words(s, 40) == "page node n2: host_stall +1");
  CHECK(in_words(s, 23) == "page n2: host_stall +1");
  CHECK(in_words(s, 7) == "page n2");
}

TEST_CASE("the frame fits 80 by 24 from two nodes to eight") {
  const int nodes = GENERATE(2, 4, 8);
  Watcher watcher(nodes, plans({"stop:n1@10s"}, nodes));
  for (int node = 0; node < nodes; ++node) watcher.sample({1.0, node, status(node, {}, nodes)});
  AgentStatus unwell = status(0, {stalled("n1", State::page)}, nodes);
  unwell.edges[0].outcome = model::Outcome::peer_lost;
  watcher.injected(0, 11.0);
  watcher.sample({12.0, 0, unwell});
  Scene scene;
  scene.watcher = &watcher;
  scene.nodes = nodes;
  scene.where = "in network namespaces";
  scene.now = 30;
  scene.duration = 60;
  for (int i = 0; i < 40; ++i) scene.notes.push_back(plain_note("x", std::string(120, 'x')));
  Canvas canvas;
  canvas.colour = canvas.unicode = false;
  const auto frame = paint(scene, canvas);
  CHECK(frame.size() <= 23);
  CHECK(frame.size() >= 15);
  for (const std::string& line : frame) CHECK(line.size() <= 80);
  CHECK(has(frame[0], "round 100   0:29 of 1:00"));
  CHECK(has(frame[3], "X"));
  CHECK(has(frame[3], "n1: host_stall"));
  CHECK(has(frame[4], "o 0.2"));
  CHECK(has(frame[4 + nodes], "v"));  // the mark of the injection
}

TEST_CASE("a window too small for the table gets as much as it can hold") {
  Watcher watcher(8, {});
  Scene scene;
  scene.watcher = &watcher;
  scene.nodes = 8;
  Canvas canvas;
  canvas.width = 20;
  canvas.height = 6;
  canvas.colour = canvas.unicode = false;
  const auto frame = paint(scene, canvas);
  CHECK(frame.size() == 5);
  for (const std::string& line : frame) CHECK(line.size() <= 20);
}
