// SPDX-License-Identifier: Apache-2.0
//
// RE2, and what it knows about the literals of an expression.
#include "daemon/match/matcher.h"

#include <re2/filtered_re2.h>
#include <re2/re2.h>

#include <algorithm>
#include <map>

namespace collwatch::match {
namespace {

constexpr std::size_t kLong = 8;  ///< literals of this length or more share the fast search
constexpr int kShortest = 4;      ///< shorter ones are of no use as a filter
constexpr std::int64_t kMemory = std::int64_t{1} << 20;  ///< for one expression
constexpr int kMostGroups = 24;

RE2::Options options() {
  RE2::Options options;
  options.set_log_errors(false);
  options.set_max_mem(kMemory);
  options.set_encoding(RE2::Options::EncodingLatin1);  // logs hold any bytes
  options.set_dot_nl(false);
  options.set_never_nl(true);
  return options;
}

/// Literals of which one must occur wherever the expression matches; empty where there are none.
/// RE2 says which strings matter; those without which it gives up are necessary alone.
std::vector<std::string> required_literals(const std::string& expression) {
  re2::FilteredRE2 filter(kShortest);
  int id = 0;
  if (filter.Add(expression, options(), &id) != RE2::NoError) return {};
  std::vector<std::string> atoms;
  filter.Compile(&atoms);
  if (atoms.empty()) return {};
  std::string best;
  double best_score = 0;
  std::vector<int> potentials;
  for (std::size_t without = 0; without < atoms.size(); ++without) {
    std::vector<int> rest;
    for (std::size_t i = 0; i < atoms.size(); ++i) {
      if (i != without) rest.push_back(static_cast<int>(i));
    }
    potentials.clear();
    filter.AllPotentials(rest, &potentials);
    if (!potentials.empty()) continue;
    const double score = rarity(rarest_part(atoms[without], kLong));
    if (best.empty() || score > best_score) {
      best = atoms[without];
      best_score = score;
    }
  }
  return best.empty() ? atoms : std::vector<std::string>{best};
}

/// One search for literals of one length, and which expressions each literal stands for.
struct Search {
  Sampler sampler;
  std::vector<std::vector<int>> expressions;

  void build(const std::map<std::string, std::vector<int>>& literals, std::size_t length) {
    std::vector<std::string> texts;
    for (const auto& [text, owners] : literals) {
      texts.push_back(text);
      expressions.push_back(owners);
    }
    sampler = Sampler(texts, length);
  }
};

}  // namespace

struct Matcher::Parts {
  std::vector<std::unique_ptr<RE2>> expressions;
  std::vector<std::vector<std::pair<int, std::string>>> groups;  // of each expression
  std::vector<int> unfiltered;
  std::vector<Search> searches;
};

Matcher::Matcher() = default;
Matcher::~Matcher() = default;
Matcher::Matcher(Matcher&&) noexcept = default;
Matcher& Matcher::operator=(Matcher&&) noexcept = default;

model::Result<Matcher> Matcher::build(const std::vector<std::string>& expressions) {
  auto parts = std::make_unique<Parts>();
  std::map<std::size_t, std::map<std::string, std::vector<int>>> by_length;
  for (const std::string& text : expressions) {
    auto expression = std::make_unique<RE2>(text, options());
    if (!expression->ok()) {
      return model::fail(model::ErrorCode::invalid_argument,
                         "'" + text + "': " + expression->error());
    }
    if (expression->NumberOfCapturingGroups() > kMostGroups) {
      return model::fail(model::ErrorCode::limit,
                         "'" + text + "': more than " + std::to_string(kMostGroups) + " groups");
    }
    const int id = static_cast<int>(parts->expressions.size());
    std::vector<std::pair<int, std::string>> groups;
    for (const auto& [number, name] : expression->CapturingGroupNames())
      groups.emplace_back(number, name);
    parts->groups.push_back(std::move(groups));
    parts->expressions.push_back(std::move(expression));
    const std::vector<std::string> literals = required_literals(text);
    if (literals.empty()) parts->unfiltered.push_back(id);
    for (const std::string& literal : literals) {
      const std::size_t length = std::min(literal.size(), kLong);
      auto& owners = by_length[length][rarest_part(literal, length)];
      if (owners.empty() || owners.back() != id) owners.push_back(id);
    }
  }
  for (const auto& [length, literals] : by_length) {
    parts->searches.emplace_back();
    parts->searches.back().build(literals, length);
  }
  Matcher matcher;
  matcher.parts_ = std::move(parts);
  return matcher;
}

void Matcher::candidates(std::string_view block, std::vector<Candidate>& found) const {
  const std::size_t first = found.size();
  std::vector<Hit> hits;
  for (const Search& search : parts_->searches) {
    hits.clear();
    search.sampler.find(block, hits);
    for (const Hit& hit : hits) {
      for (const int expression : search.expressions[static_cast<std::size_t>(hit.literal)]) {
        found.push_back({hit.at, expression});
      }
    }
  }
  if (parts_->searches.size() < 2) return;
  std::sort(found.begin() + static_cast<std::ptrdiff_t>(first), found.end(),
            [](const Candidate& a, const Candidate& b) {
              return a.at != b.at ? a.at < b.at : a.expression < b.expression;
            });
}

bool Matcher::matches(int expression, std::string_view line) const {
  const re2::StringPiece text(line.data(), line.size());
  return parts_->expressions[static_cast<std::size_t>(expression)]->Match(
      text, 0, text.size(), RE2::UNANCHORED, nullptr, 0);
}

bool Matcher::fields(int expression, std::string_view line, std::vector<Field>& into) const {
  const RE2& compiled = *parts_->expressions[static_cast<std::size_t>(expression)];
  const re2::StringPiece text(line.data(), line.size());
  re2::StringPiece found[kMostGroups + 1];
  const int count = compiled.NumberOfCapturingGroups() + 1;
  if (!compiled.Match(text, 0, text.size(), RE2::UNANCHORED, found, count)) return false;
  for (const auto& [number, name] : parts_->groups[static_cast<std::size_t>(expression)]) {
    const re2::StringPiece& value = found[number];
    if (value.data() != nullptr) into.emplace_back(name, std::string(value.data(), value.size()));
  }
  return true;
}

const std::vector<int>& Matcher::unfiltered() const {
  return parts_->unfiltered;
}

}  // namespace collwatch::match
