// SPDX-License-Identifier: Apache-2.0
//
// Explain and Tracker at every agent of a simulated cluster, for every row of the fault table,
// every victim, pairs of faults, and for healthy clusters with noise.
#include <random>

#include "tests/support/catch.h"
#include "tests/unit/state/world_faults.h"

namespace {

using namespace collwatch;
using namespace collwatch::tests;

/// Runs these faults together (begun at `onset`, mended 12 s later, 28 s to clear) and reports what
/// any agent got wrong.
std::vector<std::string> run_faults(const WorldOptions& options, const std::vector<Fault>& faults,
                                    Ms onset, std::string* stories) {
  World world(options);
  std::vector<std::string> wrong;
  for (const Fault& f : faults) {
    world.at(onset, [&f](World& w) { f.start(w); });
    if (f.mend) world.at(onset + 12'000, [&f](World& w) { f.mend(w); });
  }
  world.run_until(onset + 40'000);
  for (Member agent = 0; agent < options.members; ++agent) {
    const auto mine = complaints(world, agent, onset, faults);
    for (const std::string& c : mine) wrong.push_back("n" + std::to_string(agent) + ": " + c);
    if (!mine.empty() && stories != nullptr) *stories += story(world, agent);
  }
  return wrong;
}

void check_faults(const WorldOptions& options, const std::vector<Fault>& faults, Ms onset) {
  std::string stories;
  const auto wrong = run_faults(options, faults, onset, &stories);
  std::string all;
  for (const std::string& w : wrong) all += w + "\n";
  std::string specs;
  for (const Fault& f : faults) specs += f.spec + " ";
  INFO("members " << options.members << ", seed " << options.seed << ", " << specs << "at " << onset
                  << "\n"
                  << all << stories);
  CHECK(wrong.empty());
}

void check_single_faults(std::uint32_t members, int repeats) {
  std::uint32_t seed = members;
  for (int repeat = 0; repeat < repeats; ++repeat) {
    for (const Fault& f : all_faults({members})) {
      ++seed;
      check_faults({members, seed, true, seed % 2 == 0}, {f}, 10'000 + (seed * 373) % 1000);
    }
  }
}

TEST_CASE("2 members: every single fault is named in time by every agent") {
  check_single_faults(2, 4);
}
TEST_CASE("3 members: every single fault is named in time by every agent") {
  check_single_faults(3, 3);
}
TEST_CASE("4 members: every single fault is named in time by every agent") {
  check_single_faults(4, 2);
}
TEST_CASE("8 members: every single fault is named in time by every agent") {
  check_single_faults(8, 1);
}

TEST_CASE("without a witness the same faults are named, less finely") {
  const std::uint32_t members = GENERATE(3U, 4U);
  std::uint32_t seed = 5000;
  for (const Fault& f : all_faults({members, 1, false})) {
    ++seed;
    check_faults({members, seed, false, seed % 2 == 0}, {f}, 10'000 + (seed * 373) % 1000);
  }
}

TEST_CASE("a network cut in two is a partition to both sides") {
  std::uint32_t seed = 7000;
  const auto check = [&seed](std::uint32_t members, const std::vector<Member>& minority) {
    for (int repeat = 0; repeat < 4; ++repeat) {
      ++seed;
      check_faults({members, seed, true, true}, {make_partition(minority)},
                   10'000 + (seed * 373) % 1000);
    }
  };
  check(4, {2, 3});
  check(4, {1, 3});
  check(8, {4, 5, 6, 7});
  check(8, {1, 2, 6, 7});
  check(8, {0, 3, 5});
  check(8, {5, 6, 7});
}

TEST_CASE("one node against all others is that node, not a partition") {
  for (std::uint32_t seed = 1; seed <= 4; ++seed) {
    const WorldOptions options{8, seed, true, true};
    Fault alone = make_fault("drop", 3, 3, options);
    check_faults(options, {alone}, 10'100 + seed * 200);
  }
}

/// Two faults that touch disjoint nodes, or share one where evidence can still tell.
bool distinguishable(const std::string& x, Member a, Member b, const std::string& y, Member c,
                     Member d) {
  const bool link_x = x.rfind("drop", 0) == 0 && x.size() == 5;
  const bool link_y = y.rfind("drop", 0) == 0 && y.size() == 5;
  if (!link_x && !link_y) return a != c;
  if (link_x && link_y) return !(a == c && b == d) && !(a == d && b == c);
  // A node fault swallows the links at that node.
  if (link_x) return a != c && b != c;
  return c != a && d != a;
}

TEST_CASE("two faults at once are told apart") {
  const std::uint32_t members = GENERATE(4U, 8U);
  const std::vector<std::string> kinds = {"kill",    "killworker", "stopworker", "stop",  "drop",
                                          "ingress", "refuse",     "egress",     "drop-", "drop>"};
  std::uint32_t seed = members * 1000;
  std::mt19937 random(members);
  const auto pick = [&random, members] { return static_cast<Member>(random() % members); };
  for (int i = 0; i < (members == 4 ? 160 : 60); ++i) {
    const std::string x = kinds[random() % kinds.size()];
    const std::string y = kinds[random() % kinds.size()];
    const Member a = pick();
    const Member c = pick();
    Member b = pick();
    Member d = pick();
    if (a == b) b = (b + 1) % members;
    if (c == d) d = (d + 1) % members;
    if (!distinguishable(x, a, b, y, c, d)) continue;
    // Half of all members silent at once looks like a network cut in two, to both halves.
    const auto silent = [](const std::string& kind) { return kind == "drop" || kind == "egress"; };
    if (members == 4 && silent(x) && silent(y)) continue;
    ++seed;
    const WorldOptions options{members, seed, true, true};
    check_faults(options, {make_fault(x, a, b, options), make_fault(y, c, d, options)},
                 10'000 + (seed * 373) % 1000);
  }
}

TEST_CASE("single failures here and there page nobody") {
  const std::uint32_t members = GENERATE(2U, 3U, 4U, 8U);
  for (std::uint32_t seed = 1; seed <= 4; ++seed) {
    World world({members, seed});
    std::mt19937 random(seed);
    // At most one edge in one round, some rounds apart; and an observer whose worker sleeps.
    Ms when = 10'000;
    for (int i = 0; i < 12; ++i) {
      when += 1000 * static_cast<Ms>(6 + random() % 12);
      const Member a = static_cast<Member>(random() % members);
      const Member b = (a + 1 + static_cast<Member>(random() % (members - 1))) % members;
      world.at(when - 500, [a, b](World& w) { w.fail_once(a, b); });
    }
    world.run_until(when + 30'000);
    for (const Seen& s : world.seen()) {
      for (const auto& v : s.verdicts) {
        INFO("members " << members << " seed " << seed << " at " << s.at << " n" << s.agent << " "
                        << v.entity);
        CHECK(v.state == model::VerdictState::suspect);
      }
    }
  }
}

TEST_CASE("an observer that stalls accuses nobody but itself") {
  const std::uint32_t members = GENERATE(3U, 4U, 8U);
  for (std::uint32_t seed = 1; seed <= 5; ++seed) {
    World world({members, seed});
    const Member sick = seed % members;
    world.at(10'000 + seed * 170, [sick](World& w) {
      w.set_health(sick, 3);
      w.stall(sick, 700);
    });
    world.run_until(40'000);
    const std::string name = "n" + std::to_string(sick);
    for (const Seen& s : world.seen()) {
      for (const auto& v : s.verdicts) {
        INFO("members " << members << " seed " << seed << "\n" << story(world, s.agent));
        CHECK(v.entity.find(name) != std::string::npos);
        CHECK(v.state == model::VerdictState::suspect);
      }
    }
  }
}

}  // namespace
