// SPDX-License-Identifier: Apache-2.0
//
// The prefilter loses nothing that RE2 alone would find: every expression of the grammar and the
// catalogue against every example, whole, damaged, and among other text.
#include "daemon/match/matcher.h"

#include <random>
#include <set>

#include "daemon/diagnose/patterns.h"
#include "tests/support/catch.h"

namespace {

using namespace collwatch;

struct World {
  catalogue::Catalogue catalogue;
  diagnose::Patterns patterns;
  std::vector<std::string> examples;
};

const World& world() {
  static const World made = [] {
    World world;
    auto catalogue = catalogue::Catalogue::built_in();
    REQUIRE(catalogue);
    world.catalogue = std::move(*catalogue);
    auto patterns = diagnose::Patterns::build(world.catalogue);
    REQUIRE(patterns);
    world.patterns = std::move(*patterns);
    for (const auto& pattern : world.catalogue.patterns()) {
      for (const std::string& example : pattern.examples) {
        if (example.find('\n') == std::string::npos) world.examples.push_back(example);
      }
    }
    return world;
  }();
  return made;
}

/// What a line can become on its way: cut, letters lost or of another case, something around it.
std::string damaged(std::mt19937& random, const std::string& line) {
  std::string text = line;
  const auto somewhere = [&] { return text.empty() ? 0 : random() % text.size(); };
  switch (random() % 6) {
    case 0:
      return text.substr(somewhere());
    case 1:
      return text.substr(0, somewhere());
    case 2:
      if (!text.empty()) text[somewhere()] = static_cast<char>(random() % 256);
      break;
    case 3:
      if (!text.empty()) text[somewhere()] ^= 0x20;
      break;
    case 4:
      text.insert(somewhere(), world().examples[random() % world().examples.size()]);
      break;
    default:
      text = std::string(random() % 13, ' ') + text + std::string(random() % 13, '.');
  }
  for (char& c : text) {
    if (c == '\n') c = ' ';
  }
  return text;
}

/// Expressions that RE2 finds in the line although the prefilter did not name them for it.
void check_complete(const std::vector<std::string>& lines) {
  const match::Matcher& matcher = world().patterns.matcher();
  const auto& beside = world().patterns.beside();
  std::string block;
  std::vector<std::size_t> ends;
  for (const std::string& line : lines) {
    block += line + "\n";
    ends.push_back(block.size());
  }
  std::vector<match::Candidate> found;
  matcher.candidates(block, found);
  std::vector<std::set<int>> named(lines.size());
  std::size_t line = 0;
  for (const match::Candidate& candidate : found) {
    while (candidate.at >= ends[line]) ++line;
    // In the order of the lines: whoever reads them relies on it.
    REQUIRE((line == 0 || candidate.at >= ends[line - 1]));
    named[line].insert(candidate.expression);
  }
  for (std::size_t i = 0; i < lines.size(); ++i) {
    for (int expression = 0; expression < world().patterns.count(); ++expression) {
      if (named[i].count(expression) != 0) continue;
      if (std::count(beside.begin(), beside.end(), expression) != 0) continue;
      if (!matcher.matches(expression, lines[i])) continue;
      const auto* const pattern = world().patterns.pattern(expression);
      FAIL((pattern != nullptr ? pattern->id : std::string(world().patterns.rule(expression)->id))
           << " in: " << lines[i]);
    }
  }
}

}  // namespace

TEST_CASE("every example is a candidate for whatever matches it") {
  check_complete(world().examples);
}

TEST_CASE("damaged and mixed lines lose no match to the prefilter") {
  std::mt19937 random(11);
  std::vector<std::string> lines;
  for (const std::string& example : world().examples) {
    std::string line = example;
    for (unsigned i = random() % 3; i-- > 0;) line = damaged(random, line);
    lines.push_back(damaged(random, line));
  }
  check_complete(lines);
}

TEST_CASE("what is built in is searched for in one fast pass") {
  CHECK(world().patterns.matcher().unfiltered().empty());
  CHECK(world().patterns.matcher().passes() == 1);
}

TEST_CASE("expressions without a literal are tried on every line, short ones are found") {
  const auto matcher = match::Matcher::build({"[0-9]+", "oops!", "ab", "Gloo|x+"});
  REQUIRE(matcher);
  CHECK(matcher->unfiltered() == std::vector<int>{0, 2, 3});
  std::vector<match::Candidate> found;
  matcher->candidates("all is well\nwell OOPS! it is not\n", found);
  REQUIRE(found.size() == 1);
  CHECK(found[0].expression == 1);
  CHECK_FALSE(matcher->matches(1, "well OOPS! it is not"));
  CHECK(matcher->matches(1, "well oops! it is not"));
}

TEST_CASE("a second literal that must be in the line is looked for in that line only") {
  const auto matcher = match::Matcher::build({R"(the first word\w+ .* [(]abc\w*[)]:)"});
  REQUIRE(matcher);
  const auto count = [&](const char* block) {
    std::vector<match::Candidate> found;
    matcher->candidates(block, found);
    return found.size();
  };
  CHECK(count("the first words and (abc):\n") == 1);
  CHECK(count("the FIRST words and (ABC): more\n") == 1);
  CHECK(count("an (abc): the first words\n") == 1);
  CHECK(count("(abc):\nthe first words\n(abc):\n") == 0);
  CHECK(count("the first words") == 0);
}

TEST_CASE("named groups come out, a wrong or greedy expression is refused by name") {
  const auto matcher = match::Matcher::build({R"(rank (?P<rank>\d+)(?: of (?P<world>\d+))?)"});
  REQUIRE(matcher);
  std::vector<match::Field> fields;
  REQUIRE(matcher->fields(0, "rank 3", fields));
  CHECK(fields == std::vector<match::Field>{{"rank", "3"}});
  CHECK_FALSE(matcher->fields(0, "frank", fields));
  for (const char* wrong : {"a(b", "((((a{100}){100}){100}){100})", "\\C\\1"}) {
    const auto refused = match::Matcher::build({"fine", wrong});
    REQUIRE_FALSE(refused);
    CHECK(refused.error().text.find(wrong) != std::string::npos);
  }
}
