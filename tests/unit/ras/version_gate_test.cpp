// SPDX-License-Identifier: Apache-2.0
//
// Who may be asked, and by whom.
#include "daemon/ras/version_gate.h"

#include "tests/support/catch.h"

using namespace collwatch::ras;
using Catch::Matchers::ContainsSubstring;

namespace {

Candidate job(const std::string& version) {
  Candidate one;
  one.job = "slurm:1";
  one.version = version;
  one.has_first_rank = true;
  one.ranks_known = true;
  one.own_network = true;
  one.listens = true;
  return one;
}

}  // namespace

TEST_CASE("versions in all their spellings") {
  CHECK(parse_version("2.28.9") == Version{2, 28, 9});
  CHECK(parse_version("2.28.9+cuda13.0") == Version{2, 28, 9});
  CHECK(parse_version("2.24") == Version{2, 24, 0});
  CHECK_FALSE(parse_version(""));
  CHECK_FALSE(parse_version("2"));
  CHECK_FALSE(parse_version("two.3"));
  CHECK_FALSE(parse_version("99999999999.1"));
}

TEST_CASE("what a version can, and how carefully") {
  const struct {
    Version version;
    Ability ability;
  } table[] = {{{2, 18, 3}, Ability::none},         {{2, 23, 4}, Ability::none},
               {{2, 24, 3}, Ability::text_careful}, {{2, 28, 3}, Ability::text_careful},
               {{2, 28, 7}, Ability::json_careful}, {{2, 28, 9}, Ability::json_careful},
               {{2, 29, 1}, Ability::json_careful}, {{2, 29, 2}, Ability::json},
               {{2, 30, 7}, Ability::json},         {{3, 0, 0}, Ability::json}};
  for (const auto& row : table) CHECK(ability_of(row.version) == row.ability);
}

TEST_CASE("safe asks what is known to be safe, and says why it does not") {
  CHECK(decide(Mode::safe, {job("2.29.7")}).ask);
  CHECK(decide(Mode::safe, {job("2.29.7")}).json);
  CHECK(decide(Mode::safe, {job("2.28.9")}).json);
  CHECK(decide(Mode::safe, {job("2.27.3")}).ask);
  CHECK_FALSE(decide(Mode::safe, {job("2.27.3")}).json);
  CHECK_FALSE(decide(Mode::never, {job("2.29.7")}).ask);

  const auto why = [](Candidate one, Mode mode = Mode::safe) {
    const Decision decision = decide(mode, {std::move(one)});
    CHECK(decision.ask == decision.why.empty());
    return decision.why;
  };
  CHECK_THAT(why(job("2.21.5")), ContainsSubstring("2.21.5 has no RAS"));
  CHECK_THAT(why(job("")), ContainsSubstring("not known"));
  Candidate one = job("2.28.9");
  one.is_left = true;
  CHECK_THAT(why(one), ContainsSubstring("could crash NCCL 2.28.9"));
  one.version = "2.29.2";
  CHECK(why(one).empty());
  one = job("2.28.9");
  one.is_hurt = true;
  CHECK_THAT(why(one), ContainsSubstring("gone or stopped"));
  one.version = "2.30.7";
  CHECK(why(one).empty());
  one = job("2.30.7");
  one.listens = false;
  CHECK_THAT(why(one), ContainsSubstring("holds the port"));
  one = job("2.30.7");
  one.own_network = false;
  CHECK_THAT(why(one), ContainsSubstring("network of its own"));
  one = job("2.30.7");
  one.has_first_rank = false;
  CHECK_THAT(why(one), ContainsSubstring("rank 0"));
  CHECK_THAT(decide(Mode::safe, {}).why, ContainsSubstring("no training process"));
}

TEST_CASE("one job that could be hurt keeps the others from being asked: they share the port") {
  Candidate old = job("2.27.3");
  old.job = "slurm:2";
  CHECK(decide(Mode::safe, {job("2.30.7"), old}).ask);
  CHECK_FALSE(decide(Mode::safe, {job("2.30.7"), old}).json);
  old.is_left = true;
  CHECK_FALSE(decide(Mode::safe, {job("2.30.7"), old}).ask);
  CHECK_FALSE(decide(Mode::safe, {old, job("2.30.7")}).ask);
  old.own_network = false;  // it cannot be what a connection reaches
  CHECK(decide(Mode::safe, {job("2.30.7"), old}).ask);
  // Rank 0 of one of them is elsewhere, of the other here.
  Candidate other = job("2.30.7");
  other.has_first_rank = false;
  CHECK(decide(Mode::safe, {other, job("2.30.7")}).ask);
  CHECK(decide(Mode::safe, {job("2.30.7"), other}).ask);
}

TEST_CASE("always forgets the caution, and nothing else") {
  Candidate one = job("2.28.9");
  one.is_left = true;
  one.is_hurt = true;
  one.listens = false;
  CHECK(decide(Mode::always, {one}).ask);
  CHECK(decide(Mode::always, {job("")}).ask);
  one.has_first_rank = false;
  CHECK_FALSE(decide(Mode::always, {one}).ask);
  one.ranks_known = false;
  CHECK(decide(Mode::always, {one}).ask);
  CHECK_FALSE(decide(Mode::always, {job("2.21.5")}).ask);
}
