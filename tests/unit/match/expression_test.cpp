// SPDX-License-Identifier: Apache-2.0
//
// One expression alone: what is refused, and that nobody's expression takes more than linear time
// and a little memory.
#include "daemon/match/expression.h"

#include <string>

#include "daemon/match/matcher.h"
#include "tests/support/catch.h"

using namespace collwatch;
using match::Expression;

namespace {

std::string refusal(const std::string& text) {
  const auto refused = Expression::compile(text);
  REQUIRE_FALSE(refused);
  return refused.error().text;
}

}  // namespace

TEST_CASE("what an expression finds, and its named groups") {
  const auto expression = Expression::compile(R"(rank (?P<rank>\d+)(?: of (?P<world>\d+))?)");
  REQUIRE(expression);
  CHECK(expression->finds("the rank 3 is"));
  CHECK_FALSE(expression->finds("no frank"));
  const auto fields = expression->fields("rank 3");
  REQUIRE(fields);
  CHECK(*fields == std::map<std::string, std::string>{{"rank", "3"}});
  CHECK(expression->fields("rank 3 of 8")->at("world") == "8");
  CHECK_FALSE(expression->fields("none").has_value());
  CHECK(Expression::compile("\xff")->finds("bytes \xff that are no UTF-8"));
}

TEST_CASE("expressions that cannot be, or that would need too much, are refused with the reason") {
  CHECK(refusal("a(b") == "not a regular expression: missing ): a(b");
  CHECK(refusal(R"((\w+) \1)").find("not a regular expression") == 0);  // would backtrack
  CHECK(refusal("(?=x)y").find("not a regular expression") == 0);
  CHECK(refusal("a*") == "finds something in an empty line");
  CHECK(refusal("^$") == "finds something in an empty line");
  CHECK(refusal("((((a{100}){100}){100}){100})").find("not a regular expression") == 0);
  CHECK(refusal(std::string(2049, 'a')) == "longer than 2048 bytes");
  std::string groups;
  for (int i = 0; i < 25; ++i) groups += "(a)";
  CHECK(refusal(groups) == "more than 24 groups");
}

TEST_CASE("what hurts engines that backtrack is linear here") {
  const std::string line(200000, 'a');
  for (const char* text : {"(a+)+$b", "(a|aa)+b", "(a|a)*b", "(.*)*x(.*)*y", "a.*a.*a.*a.*a.*b"}) {
    const auto expression = Expression::compile(text);
    REQUIRE(expression);
    CHECK_FALSE(expression->finds(line));
  }
}

TEST_CASE("what compiles alone compiles among many") {
  // Near the limit of one: each of the many has no less memory than that.
  const std::string large = "x(?:[a-z]{3}[0-9]{4}|[A-Z]{5}){12}y";
  REQUIRE(Expression::compile(large));
  const std::vector<std::string> many(2500, large);
  CHECK(match::Matcher::build(many).has_value());
}

TEST_CASE("an expression with hundreds of alternatives is tried on every line instead") {
  const auto alternatives = [](int count) {
    std::string text = "(?:";
    unsigned state = 1;
    for (int i = 0; i < count; ++i) {
      text += i == 0 ? "" : "|";
      for (int letter = 0; letter < 6; ++letter) {
        state = state * 1664525 + 1013904223;
        text += static_cast<char>('a' + (state >> 24) % 26);
      }
      text += ".";
    }
    return text + ")";
  };
  const auto few = match::Matcher::build({alternatives(100)});
  REQUIRE(few);
  CHECK(few->unfiltered().empty());
  const std::string text = alternatives(220);
  REQUIRE(Expression::compile(text));
  const auto many = match::Matcher::build({text});
  REQUIRE(many);
  CHECK(many->unfiltered() == std::vector<int>{0});
  CHECK(many->matches(0, text.substr(3, 7)));
}
