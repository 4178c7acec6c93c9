// SPDX-License-Identifier: Apache-2.0
//
// The sampled search against the obvious one.
#include "daemon/match/sampler.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <random>

#include "tests/support/catch.h"

namespace {

using namespace collwatch;

std::string lower(std::string text) {
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

/// How often each literal occurs, overlaps included.
std::vector<int> obvious(const std::vector<std::string>& literals, const std::string& text) {
  const std::string folded = lower(text);
  std::vector<int> counts;
  for (const std::string& literal : literals) {
    int count = 0;
    for (std::size_t at = folded.find(literal); at != std::string::npos;
         at = folded.find(literal, at + 1)) {
      ++count;
    }
    counts.push_back(count);
  }
  return counts;
}

std::vector<int> sampled(const match::Sampler& sampler, std::size_t literals,
                         const std::string& text) {
  std::vector<match::Hit> hits;
  sampler.find(text, hits);
  std::vector<int> counts(literals);
  for (const match::Hit& hit : hits) ++counts[static_cast<std::size_t>(hit.literal)];
  return counts;
}

std::string random_text(std::mt19937& random, std::size_t size) {
  constexpr std::string_view kLetters = "abcABC :\n";
  std::string text;
  while (text.size() < size) text += kLetters[random() % kLetters.size()];
  return text;
}

}  // namespace

TEST_CASE("the sampled search finds each occurrence once, wherever it lies") {
  std::mt19937 random(3);
  for (const std::size_t shortest : {5U, 6U, 7U, 8U, 11U}) {
    for (int round = 0; round < 200; ++round) {
      std::vector<std::string> literals;
      while (literals.size() < 6) {
        std::string literal = lower(random_text(random, shortest + random() % 6));
        std::replace(literal.begin(), literal.end(), '\n', ' ');
        if (std::count(literals.begin(), literals.end(), literal) == 0)
          literals.push_back(std::move(literal));
      }
      const match::Sampler sampler(literals);
      std::string text;
      for (int i = 0; i < 12; ++i) {
        text += random_text(random, random() % 9);
        text += literals[random() % literals.size()];
      }
      INFO(text);
      CHECK(sampled(sampler, literals.size(), text) == obvious(literals, text));
    }
  }
}

TEST_CASE("text shorter than a gram, and no literals at all") {
  const match::Sampler sampler(std::vector<std::string>{"abcdefgh"});
  for (const char* text : {"", "a", "abcd", "abcdefg", "bcdefgh"}) {
    CHECK(sampled(sampler, 1, text) == std::vector<int>{0});
  }
  CHECK(sampled(sampler, 1, "ABCDEFGH") == std::vector<int>{1});
  std::vector<match::Hit> hits;
  match::Sampler().find("anything", hits);
  CHECK(hits.empty());
}

TEST_CASE("words that fill logs are commoner than words that do not") {
  CHECK(match::rarity("monitoredbarrier") > match::rarity(" warning: loss "));
  CHECK(match::rarity("iteration ") < match::rarity("xid (pci:"));
}
