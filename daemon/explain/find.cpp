// SPDX-License-Identifier: Apache-2.0
//
// In this order: ids, the patterns that the log engine uses too, phrases, then single words, each
// worth the more the fewer entries have it.
#include "daemon/explain/find.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <sstream>

#include "daemon/logs/peel.h"
#include "daemon/match/expression.h"

namespace collwatch::explain {
namespace {

using catalogue::Catalogue;
using catalogue::Entry;
using catalogue::Pattern;
using model::Fingerprint;

constexpr std::size_t kMostBytes = 64 * 1024;  ///< of a pasted text; the rest is not looked at
constexpr std::size_t kShortestInPhrase = 6;   ///< a text that is part of a phrase
constexpr double kWordsNeeded = 0.5;           ///< share of the words that an entry must know
constexpr double kNearlyAsGood = 0.7;

bool is_word(char c) {
  const auto u = static_cast<unsigned char>(c);
  return std::isalnum(u) != 0 || u >= 0x80;
}

char lower(char c) {
  return static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
}

/// Lower case, any white space one blank.
std::string plain(const std::string& text) {
  std::string out;
  for (const char c : text) {
    const bool blank = std::isspace(static_cast<unsigned char>(c)) != 0;
    if (blank && (out.empty() || out.back() == ' ')) continue;
    out += blank ? ' ' : lower(c);
  }
  while (!out.empty() && out.back() == ' ') out.pop_back();
  return out;
}

/// An id, however it is written: gloo_peer_lost, gloo-peer-lost, GlooPeerLost.
std::string squashed(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (is_word(c)) out += lower(c);
  }
  return out;
}

std::set<std::string> words(const std::string& text) {
  static const std::set<std::string> kEmpty = {
      "a",    "an", "and", "are",  "as", "at",  "be",  "by",  "did",   "do",  "does", "for",
      "from", "in", "is",  "it",   "my", "of",  "on",  "or",  "that",  "the", "this", "to",
      "was",  "we", "why", "with", "i",  "its", "get", "got", "error", "has", "had"};
  std::set<std::string> out;
  std::string word;
  for (const char c : text + " ") {
    if (is_word(c)) {
      word += lower(c);
    } else if (!word.empty()) {
      if (word.size() > 1 && kEmpty.count(word) == 0) out.insert(word);
      word.clear();
    }
  }
  return out;
}

/// Whether `part` is in `whole` and neither begins nor ends inside of a word.
bool holds(const std::string& whole, const std::string& part) {
  for (std::size_t at = whole.find(part); at != std::string::npos; at = whole.find(part, at + 1)) {
    const std::size_t end = at + part.size();
    const bool begins = at == 0 || !is_word(whole[at - 1]) || !is_word(part.front());
    const bool ends = end == whole.size() || !is_word(whole[end]) || !is_word(part.back());
    if (begins && ends) return true;
  }
  return false;
}

std::optional<Found> by_id(const Catalogue& catalogue, const std::string& text) {
  const std::string given = squashed(text);
  for (const Entry& entry : catalogue.entries()) {
    if (text.find_first_of(" \n") != std::string::npos) break;
    if (squashed(std::string(model::name(entry.id))) == given) {
      return Found{entry.id, FoundBy::id, std::nullopt, "", {}};
    }
  }
  return std::nullopt;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text.substr(0, kMostBytes));
  for (std::string line; std::getline(in, line);) {
    while (!line.empty() && std::isspace(static_cast<unsigned char>(line.back())) != 0) {
      line.pop_back();
    }
    if (line.empty()) continue;
    logs::Who who;
    const std::string bare(logs::peel(line, who));
    if (bare != line && !bare.empty()) lines.push_back(bare);
    lines.push_back(std::move(line));
  }
  return lines;
}

std::optional<Found> by_pattern(const Catalogue& catalogue, const std::string& text) {
  const std::vector<std::string> lines = lines_of(text);
  const std::vector<Pattern> patterns = catalogue.patterns();
  const Pattern* best = nullptr;
  std::size_t best_index = 0;
  for (std::size_t i = 0; i < patterns.size(); ++i) {
    if (best != nullptr && !catalogue::before(patterns[i], i, *best, best_index)) continue;
    const auto regex = match::Expression::compile(patterns[i].match);
    if (!regex) continue;
    const bool finds = std::any_of(lines.begin(), lines.end(),
                                   [&](const std::string& line) { return regex->finds(line); });
    if (!finds) continue;
    best = &patterns[i];
    best_index = i;
  }
  if (best == nullptr) return std::nullopt;
  return Found{best->fingerprint, FoundBy::pattern, *best, "", {}};
}

/// The longest phrase (or title) that the text holds, or that holds the text; of equally long ones
/// the first in the catalogue, and the others are told.
std::optional<Found> by_phrase(const Catalogue& catalogue, const std::string& text) {
  const std::string given = plain(text);
  std::optional<Found> best;
  std::size_t best_size = 0;
  const auto try_phrase = [&](const Entry& entry, const std::string& phrase) {
    const std::string known = plain(phrase);
    std::size_t size = 0;
    if (!known.empty() && holds(given, known)) {
      size = known.size();
    } else if (given.size() >= kShortestInPhrase && holds(known, given)) {
      size = given.size();
    }
    if (size > best_size) {
      best_size = size;
      best = Found{entry.id, FoundBy::phrase, std::nullopt, phrase, {}};
    } else if (size > 0 && size == best_size && entry.id != best->id &&
               (best->others.empty() || best->others.back() != entry.id)) {
      best->others.push_back(entry.id);
    }
  };
  for (const Entry& entry : catalogue.entries()) {
    for (const std::string& phrase : entry.phrases) try_phrase(entry, phrase);
    try_phrase(entry, entry.title);
  }
  return best;
}

std::optional<Found> by_words(const Catalogue& catalogue, const std::string& text) {
  const std::set<std::string> given = words(text.substr(0, kMostBytes));
  if (given.empty()) return std::nullopt;
  std::map<std::string, int> entries_with;
  std::vector<std::set<std::string>> known;
  for (const Entry& entry : catalogue.entries()) {
    std::string all = std::string(model::name(entry.id)) + " " + entry.title;
    std::replace(all.begin(), all.end(), '_', ' ');
    for (const std::string& phrase : entry.phrases) all += " " + phrase;
    known.push_back(words(all));
    for (const std::string& word : known.back()) ++entries_with[word];
  }
  const auto count = static_cast<double>(known.size());
  std::vector<std::pair<double, std::size_t>> scores;
  for (std::size_t i = 0; i < known.size(); ++i) {
    double score = 0;
    std::size_t hits = 0;
    for (const std::string& word : given) {
      if (known[i].count(word) == 0) continue;
      ++hits;
      score += std::log(1 + count / entries_with[word]);
    }
    const bool enough =
        static_cast<double>(hits) >= kWordsNeeded * static_cast<double>(given.size());
    if (hits > 0 && enough) scores.emplace_back(-score, i);
  }
  if (scores.empty()) return std::nullopt;
  std::sort(scores.begin(), scores.end());
  Found found{catalogue.entries()[scores[0].second].id, FoundBy::words, std::nullopt, "", {}};
  for (std::size_t i = 1; i < scores.size() && found.others.size() < 4; ++i) {
    if (scores[i].first <= kNearlyAsGood * scores[0].first) {
      found.others.push_back(catalogue.entries()[scores[i].second].id);
    }
  }
  return found;
}

}  // namespace

std::optional<Found> find(const Catalogue& catalogue, const std::string& text) {
  if (auto found = by_id(catalogue, text)) return found;
  if (auto found = by_pattern(catalogue, text)) return found;
  if (auto found = by_phrase(catalogue, text)) return found;
  // A misspelt id is better suggested than guessed.
  const bool is_name = text.find('_') != std::string::npos && text.find(' ') == std::string::npos;
  if (is_name) return std::nullopt;
  return by_words(catalogue, text);
}

std::vector<const Entry*> entries_of_layer(const Catalogue& catalogue, const std::string& layer) {
  std::string variables = layer + "_";
  std::transform(variables.begin(), variables.end(), variables.begin(),
                 [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  std::vector<const Entry*> own;
  std::vector<const Entry*> others;
  for (const Entry& entry : catalogue.entries()) {
    const bool told =
        std::any_of(entry.environment.begin(), entry.environment.end(),
                    [&](const std::string& text) { return text.rfind(variables, 0) == 0; });
    if (entry.layer == layer) {
      own.push_back(&entry);
    } else if (told) {
      others.push_back(&entry);
    }
  }
  if (!own.empty()) own.insert(own.end(), others.begin(), others.end());
  return own;
}

std::vector<std::string> layers(const Catalogue& catalogue) {
  std::vector<std::string> names;
  for (const Entry& entry : catalogue.entries()) {
    if (entry.layer.empty()) continue;
    if (std::find(names.begin(), names.end(), entry.layer) == names.end()) {
      names.push_back(entry.layer);
    }
  }
  return names;
}

}  // namespace collwatch::explain
