// SPDX-License-Identifier: Apache-2.0
//
// Users' files over the built-in entries, and what a wrong file is told.
#include "daemon/catalogue/catalogue.h"
#include "tests/support/catch.h"

namespace {

using namespace collwatch;
using catalogue::Catalogue;
using model::Fingerprint;

Catalogue built_in() {
  auto made = Catalogue::built_in();
  REQUIRE(made);
  return std::move(*made);
}

std::string refusal(const std::string& yaml) {
  Catalogue catalogue = built_in();
  const std::size_t before = catalogue.patterns().size();
  const auto merged = catalogue.merge(yaml, "mine.yaml");
  REQUIRE_FALSE(merged);
  CHECK(catalogue.patterns().size() == before);
  return merged.error().text;
}

constexpr const char* kMine = R"(fingerprints:
  - id: gloo_peer_lost
    fix: Call the data centre.
    frameworks: {Ours: our launcher prints it twice}
    patterns:
      - {id: our_launcher, match: 'task (?P<rank>\d+) vanished', role: initiating}
)";

}  // namespace

TEST_CASE("a user's file replaces what it gives and adds its patterns") {
  Catalogue catalogue = built_in();
  const catalogue::Entry old = *catalogue.find(Fingerprint::gloo_peer_lost);
  REQUIRE(catalogue.merge(kMine, "mine.yaml"));
  const catalogue::Entry& now = *catalogue.find(Fingerprint::gloo_peer_lost);
  CHECK(now.fix == "Call the data centre.");
  CHECK(now.title == old.title);
  CHECK(now.frameworks.at("Ours") == "our launcher prints it twice");
  CHECK(now.frameworks.size() == old.frameworks.size() + 1);
  REQUIRE(now.patterns.size() == old.patterns.size() + 1);
  CHECK(now.patterns.back().id == "our_launcher");
  CHECK(now.patterns.back().fingerprint == Fingerprint::gloo_peer_lost);
  CHECK(now.patterns.back().role == catalogue::Role::initiating);
}

TEST_CASE("a pattern with a known id takes its place, also from another entry") {
  Catalogue catalogue = built_in();
  const std::size_t all = catalogue.patterns().size();
  REQUIRE(catalogue.merge(R"(fingerprints:
  - id: gloo_peer_lost
    patterns: [{id: gloo_closed_by_peer, match: 'peer went away', role: context}]
  - id: worker_exit
    patterns: [{id: gloo_read_error, match: 'read went away', role: initiating}]
)",
                          "mine.yaml"));
  CHECK(catalogue.patterns().size() == all);
  const auto& lost = catalogue.find(Fingerprint::gloo_peer_lost)->patterns;
  CHECK(lost[0].id == "gloo_closed_by_peer");
  CHECK(lost[0].match == "peer went away");
  CHECK(catalogue.find(Fingerprint::worker_exit)->patterns.back().id == "gloo_read_error");
}

TEST_CASE("what is wrong with a file is told with its line and its key") {
  struct Case {
    const char* yaml;
    const char* told;
  };
  const Case cases[] = {
      {"fingerprints: 3", "mine.yaml:1: fingerprints: must be a list"},
      {"fingerprint: []", "mine.yaml:1: fingerprint: unknown key; did you mean fingerprints?"},
      {"fingerprints:\n  - title: x", "mine.yaml:2: id: missing"},
      {"fingerprints:\n  - id: gloo_peer_last",
       "mine.yaml:2: id: 'gloo_peer_last' is none that is known; did you mean gloo_peer_lost?"},
      {"fingerprints:\n  - id: straggler\n    syptom: x",
       "mine.yaml:3: straggler.syptom: unknown key; did you mean symptom?"},
      {"fingerprints:\n  - id: straggler\n    title: x\n    title: y",
       "mine.yaml:4: straggler.title: given twice"},
      {"fingerprints:\n  - id: straggler\n    title: [x]",
       "mine.yaml:3: straggler.title: must be a text"},
      {"fingerprints:\n  - id: straggler\n    related: [stragler]", "did you mean straggler?"},
      {"fingerprints:\n  - id: straggler\n    causes: [{evidence: x}]",
       "mine.yaml:3: straggler.causes.cause: missing"},
      {"fingerprints:\n  - id: straggler\n    patterns:\n      - id: x\n        match: 'a(b'\n",
       "mine.yaml:5: straggler.patterns.match: not a regular expression: missing ): a(b"},
      {"fingerprints:\n  - id: straggler\n    patterns:\n      - id: x\n        match: 'a*'\n",
       "mine.yaml:5: straggler.patterns.match: finds something in an empty line"},
      {"fingerprints:\n  - id: straggler\n    patterns:\n      - id: x\n        match: "
       "'((((a{100}){100}){100}){100})'\n",
       "mine.yaml:5: straggler.patterns.match: not a regular expression"},
      {"fingerprints:\n  - id: straggler\n    patterns:\n      - {id: x, match: abc, role: guilty}",
       "mine.yaml:4: straggler.patterns.role: 'guilty' is none that is known"},
      {"fingerprints:\n  - id: straggler\n    patterns:\n      - {id: x, match: abc, examples: "
       "[ab]}",
       "match does not find 'ab'"},
      {"fingerprints:\n  - id: straggler\n    patterns: [{id: x, match: abc}, {id: x, match: d}]",
       "straggler.patterns.id: 'x' is given twice"},
      {"fingerprints:\n  - id: straggler\n    patterns: [{id: x, match: abc, fallback: maybe}]",
       "straggler.patterns.fallback: must be true or false"},
  };
  for (const Case& c : cases) {
    CAPTURE(c.yaml);
    CHECK(refusal(c.yaml).find(c.told) != std::string::npos);
  }
}

TEST_CASE("a pattern that needs too much memory is refused, a long one too") {
  const std::string begin =
      "fingerprints:\n  - id: straggler\n    patterns:\n      - id: x\n        match: '";
  std::string large;
  for (int i = 0; i < 100; ++i) large += "(x{31}){31}";
  CHECK(refusal(begin + large + "'").find(":5: straggler.patterns.match: needs too much memory") !=
        std::string::npos);
  CHECK(refusal(begin + std::string(3000, 'a') + "'").find("longer than 2048 bytes") !=
        std::string::npos);
}

TEST_CASE("all problems of a file are told at once") {
  const std::string text = refusal("fingerprints:\n  - id: straggler\n    x: 1\n    y: 2\n");
  CHECK(text.find("straggler.x") != std::string::npos);
  CHECK(text.find("straggler.y") != std::string::npos);
}

TEST_CASE("a file that is not there is named") {
  Catalogue catalogue = built_in();
  const auto merged = catalogue.merge_file("/nowhere/mine.yaml");
  REQUIRE_FALSE(merged);
  CHECK(merged.error().text.find("/nowhere/mine.yaml") != std::string::npos);
}
