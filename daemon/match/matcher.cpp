// SPDX-License-Identifier: Apache-2.0
//
// RE2, and what it knows about the literals of an expression.
#include "daemon/match/matcher.h"

#include <re2/filtered_re2.h>
#include <re2/re2.h>

#include <algorithm>
#include <cctype>
#include <cstring>
#include <map>
#include <numeric>

#include "daemon/match/expression.h"
#include "daemon/match/newlines.h"
#include "daemon/match/re2_options.h"

namespace collwatch::match {
namespace {

constexpr int kShortest = 4;  ///< shorter literals are of no use as a filter
/// With more of them an expression is tried on every line: choosing among them takes its time.
constexpr std::size_t kMostAtoms = 200;

/// What a line must hold for an expression to match it.
struct Literals {
  std::vector<std::string> any_of;  ///< empty: nothing is known
  std::string and_also;             ///< empty: nothing more
};

/// The byte of a literal to look for: neither letter, which has two cases, nor blank.
std::size_t pivot_of(const std::string& literal) {
  const auto it = std::find_if(literal.begin(), literal.end(), [](unsigned char c) {
    return c > ' ' && c < 0x7f && std::isalnum(c) == 0;
  });
  return it == literal.end() ? std::string::npos : static_cast<std::size_t>(it - literal.begin());
}

/// Literals of which one must occur wherever the expression matches: of all that RE2 knows, the
/// common ones are left out as long as the others suffice. Empty where there are none.
Literals required_literals(const std::string& expression, const RE2::Options& options) {
  Literals literals;
  re2::FilteredRE2 filter(kShortest);
  int id = 0;
  if (filter.Add(expression, options, &id) != RE2::NoError) return literals;
  std::vector<std::string> atoms;
  filter.Compile(&atoms);
  if (atoms.size() > kMostAtoms) return literals;
  std::vector<double> rarities;
  for (const std::string& atom : atoms) rarities.push_back(rarity(atom));
  std::vector<std::size_t> commonest_first(atoms.size());
  std::iota(commonest_first.begin(), commonest_first.end(), std::size_t{0});
  // A single short literal makes the search through all text slow: these go first.
  std::sort(commonest_first.begin(), commonest_first.end(), [&](std::size_t a, std::size_t b) {
    const bool a_is_long = atoms[a].size() >= Sampler::kWidest;
    const bool b_is_long = atoms[b].size() >= Sampler::kWidest;
    return a_is_long != b_is_long ? b_is_long : rarities[a] < rarities[b];
  });
  std::vector<bool> is_needed(atoms.size(), true);
  std::vector<int> absent_by_choice;
  std::vector<int> potentials;
  for (const std::size_t candidate : commonest_first) {
    // Were only the atoms found that are left out, the expression must still be ruled out.
    absent_by_choice.push_back(static_cast<int>(candidate));
    potentials.clear();
    filter.AllPotentials(absent_by_choice, &potentials);
    if (potentials.empty()) {
      is_needed[candidate] = false;
    } else {
      absent_by_choice.pop_back();
    }
  }
  for (std::size_t i = 0; i < atoms.size(); ++i) {
    if (is_needed[i]) literals.any_of.push_back(atoms[i]);
  }
  const bool has_tiny =
      std::any_of(literals.any_of.begin(), literals.any_of.end(),
                  [](const std::string& one) { return one.size() < Sampler::kGram; });
  if (has_tiny) literals.any_of.clear();
  // RE2 may know of others that must be in the line as well: one of them is looked for then.
  for (std::size_t i = 0; i < atoms.size(); ++i) {
    if (is_needed[i] || pivot_of(atoms[i]) == std::string::npos) continue;
    std::vector<int> others;
    for (std::size_t j = 0; j < atoms.size(); ++j) {
      if (j != i) others.push_back(static_cast<int>(j));
    }
    potentials.clear();
    filter.AllPotentials(others, &potentials);
    if (!potentials.empty()) continue;
    if (literals.and_also.empty() || rarity(atoms[i]) > rarity(literals.and_also))
      literals.and_also = atoms[i];
  }
  return literals;
}

/// Whether the line around `at` holds `literal`, letter case ignored.
bool line_holds(std::string_view block, std::size_t at, const std::string& literal,
                std::size_t pivot) {
  const std::size_t start = line_start(block, at + 1);
  const std::size_t end = std::min(block.find('\n', at), block.size());
  if (end - start < literal.size()) return false;
  const std::size_t last = end - (literal.size() - pivot);
  for (std::size_t i = start + pivot; i <= last; ++i) {
    const void* const found = std::memchr(block.data() + i, literal[pivot], last + 1 - i);
    if (found == nullptr) return false;
    i = static_cast<std::size_t>(static_cast<const char*>(found) - block.data());
    if (equal_folded(block.data() + i - pivot, literal.data(), literal.size())) return true;
  }
  return false;
}

/// One search, and which expressions each of its literals stands for.
struct Search {
  Sampler sampler;
  std::vector<std::vector<int>> expressions;

  explicit Search(const std::map<std::string, std::vector<int>>& literals) {
    std::vector<std::string> texts;
    for (const auto& [text, owners] : literals) {
      texts.push_back(text);
      expressions.push_back(owners);
    }
    sampler = Sampler(std::move(texts));
  }
};

}  // namespace

struct Matcher::Parts {
  std::vector<std::unique_ptr<RE2>> expressions;
  std::vector<std::vector<std::pair<int, std::string>>> groups;  // of each expression
  std::vector<int> unfiltered;
  std::vector<std::pair<std::string, std::size_t>> and_also;  // of each expression, and its pivot
  std::vector<Search> searches;
};

Matcher::Matcher() = default;
Matcher::~Matcher() = default;
Matcher::Matcher(Matcher&&) noexcept = default;
Matcher& Matcher::operator=(Matcher&&) noexcept = default;

model::Result<Matcher> Matcher::build(const std::vector<std::string>& expressions,
                                      const std::vector<int>& never_candidates,
                                      Prefilter prefilter) {
  auto parts = std::make_unique<Parts>();
  const RE2::Options options = re2_options(memory_for_each_of(expressions.size()));
  std::map<std::string, std::vector<int>> long_literals;
  std::map<std::string, std::vector<int>> short_literals;
  for (const std::string& text : expressions) {
    auto expression = std::make_unique<RE2>(text, options);
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
    parts->and_also.emplace_back();
    if (std::find(never_candidates.begin(), never_candidates.end(), id) != never_candidates.end())
      continue;
    Literals literals;
    if (prefilter == Prefilter::on) literals = required_literals(text, options);
    if (literals.any_of.empty()) parts->unfiltered.push_back(id);
    if (!literals.and_also.empty()) {
      const std::size_t pivot = pivot_of(literals.and_also);
      parts->and_also.back() = {std::move(literals.and_also), pivot};
    }
    for (const std::string& literal : literals.any_of) {
      const bool is_long = literal.size() >= Sampler::kWidest;
      (is_long ? long_literals : short_literals)[literal].push_back(id);
    }
  }
  for (const auto* literals : {&long_literals, &short_literals}) {
    if (!literals->empty()) parts->searches.emplace_back(*literals);
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
        const auto& [also, pivot] = parts_->and_also[static_cast<std::size_t>(expression)];
        if (!also.empty() && !line_holds(block, hit.at, also, pivot)) continue;
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

bool Matcher::has_fields(int expression) const {
  return !parts_->groups[static_cast<std::size_t>(expression)].empty();
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

std::size_t Matcher::passes() const {
  return parts_->searches.size();
}

}  // namespace collwatch::match
