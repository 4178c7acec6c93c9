// SPDX-License-Identifier: Apache-2.0
//
// Slow and lossy: the node when several peers feel it, the link when only its ends do, nobody when
// all are alike.
#include "daemon/attribute/impairment.h"

#include <random>

#include "tests/support/catch.h"
#include "tests/unit/attribute/evidence_builder.h"

namespace {

using namespace collwatch;
using namespace collwatch::tests;
using attribute::Impairment;
using model::Kind;
using model::Reason;

std::string text(const std::vector<Impairment>& found) {
  std::string all;
  for (const Impairment& one : found) {
    all += std::string(model::name(one.cause.kind)) + " " + std::to_string(one.cause.a);
    if (one.cause.kind == Kind::link) all += "-" + std::to_string(one.cause.b);
    all += " " + std::string(model::name(one.reason)) + "; ";
  }
  return all;
}

/// Every flow misses `share` of those that touch `bad`, at random.
EvidenceBuilder lossy_world(std::uint32_t members, const std::vector<Member>& bad, double share,
                            unsigned seed) {
  EvidenceBuilder world(members, 0);
  std::mt19937 random(seed);
  for (auto& report : world.evidence().reports) {
    for (EdgeWord& word : report.edges) {
      double lost = 0.001;
      for (const Member b : bad) {
        if (report.observer == b || word.peer == b) lost = 1 - (1 - lost) * (1 - share);
      }
      int missing = -1;  // the agent forgives one for phase
      for (int i = 0; i < 40; ++i) missing += std::bernoulli_distribution(lost)(random) ? 1 : 0;
      word.lost = std::max(0, missing);
    }
  }
  return world;
}

}  // namespace

TEST_CASE("a node that is late to several peers is slow, its peers are not") {
  for (const std::uint32_t members : {3U, 4U, 8U}) {
    EvidenceBuilder world(members, 0);
    for (Member o = 0; o < members; ++o) {
      if (o != 2) world.word(o, 2).late_ms = 90;
    }
    CHECK(text(impairments(world.evidence())) == "node 2 slow; ");
  }
}

TEST_CASE("one late pair is a slow link, of two members too") {
  EvidenceBuilder four(4, 0);
  four.word(1, 3).late_ms = 90;
  four.word(3, 1).late_ms = 90;
  CHECK(text(impairments(four.evidence())) == "link 1-3 slow; ");
  EvidenceBuilder two(2, 0);
  two.word(0, 1).late_ms = 90;
  CHECK(text(impairments(two.evidence())) == "link 0-1 slow; ");
}

TEST_CASE("an observer that is not well itself calls nobody slow") {
  EvidenceBuilder world(4, 0);
  for (Member p = 1; p < 4; ++p) world.word(0, p).late_ms = 90;
  world.health(0, 1);
  CHECK(impairments(world.evidence()).empty());
}

TEST_CASE("a node that loses a tenth of its datagrams is lossy") {
  for (const std::uint32_t members : {4U, 8U}) {
    int named = 0;
    for (unsigned seed = 1; seed <= 50; ++seed) {
      EvidenceBuilder world = lossy_world(members, {2}, 0.10, seed);
      const std::string found = text(impairments(world.evidence()));
      named += found == "node 2 lossy; " ? 1 : 0;
      CHECK((found == "node 2 lossy; " || found.empty()));
    }
    CHECK(named >= 48);  // a window in fifty may be lucky; the next round has another one
  }
}

TEST_CASE("two lossy nodes are both named, and nobody between them") {
  for (unsigned seed = 1; seed <= 20; ++seed) {
    EvidenceBuilder world = lossy_world(8, {1, 5}, 0.15, seed);
    CHECK(text(impairments(world.evidence())).find("node 1 lossy") != std::string::npos);
    CHECK(text(impairments(world.evidence())).find("node 5 lossy") != std::string::npos);
    CHECK(impairments(world.evidence()).size() == 2);
  }
}

TEST_CASE("a cluster that loses everywhere a little names nobody") {
  for (unsigned seed = 1; seed <= 50; ++seed) {
    EvidenceBuilder world = lossy_world(4, {}, 0, seed);
    CHECK(impairments(world.evidence()).empty());
    EvidenceBuilder all = lossy_world(4, {0, 1, 2, 3}, 0.02, seed);
    CHECK(text(impairments(all.evidence())).find("link") == std::string::npos);
  }
}

TEST_CASE("where everybody loses alike nobody is the lossy one") {
  for (unsigned seed = 1; seed <= 50; ++seed) {
    EvidenceBuilder world = lossy_world(8, {0, 1, 2, 3, 4, 5, 6, 7}, 0.05, seed);
    CHECK(text(impairments(world.evidence())) == "");
  }
}

TEST_CASE("a lossy link is a link") {
  EvidenceBuilder world = lossy_world(4, {}, 0, 1);
  world.word(1, 3).lost = 5;
  world.word(3, 1).lost = 4;
  CHECK(text(impairments(world.evidence())) == "link 1-3 lossy; ");
}
