// SPDX-License-Identifier: Apache-2.0
//
// The sampled search, and which part of a literal is worth searching for.
#include "daemon/match/sampler.h"

#include <algorithm>
#include <cstring>

#include "probes/model/result.h"

namespace collwatch::match {
namespace {

constexpr int kTableBits = 16;
constexpr std::uint32_t kFold32 = 0x20202020U;
constexpr std::uint64_t kFold64 = 0x2020202020202020ULL;

std::uint32_t gram_at(const char* text) {
  std::uint32_t gram = 0;
  std::memcpy(&gram, text, sizeof gram);
  return gram | kFold32;
}

std::uint32_t slot_of(std::uint32_t gram) {
  return (gram * 0x9E3779B1U) >> (32 - kTableBits);
}

/// At most 8 bytes, folded; the rest is zero.
std::uint64_t word_at(const char* text, std::size_t length) {
  std::uint64_t word = 0;
  std::memcpy(&word, text, length);
  return word | kFold64;
}

/// How common a byte is in logs, roughly, in bits of surprise.
double surprise(char c) {
  constexpr std::string_view kCommon = " etaoinsrdlcu0123456789";
  const char folded = static_cast<char>(c | 0x20);
  const std::size_t at = kCommon.find(folded);
  if (at == 0) return 2.5;
  if (at == 1) return 3.0;
  if (at != std::string_view::npos) return 3.5 + 0.1 * static_cast<double>(at);
  return folded >= 'a' && folded <= 'z' ? 6.5 : 6.0;
}

/// Words of which ordinary log lines are full: a literal made of them filters nothing.
double commonness(std::string_view part) {
  double penalty = 0;
  for (const std::string_view word :
       {"tion", "ing ", " the", "the ", "rank", "erro", "ed t", " to ", " for", "info", "warn",
        "torc", "file", "line", "pyth", "time", "proc", "ess "}) {
    if (part.find(word) != std::string_view::npos) penalty += 4;
  }
  return penalty;
}

}  // namespace

double rarity(std::string_view part) {
  double score = -commonness(part);
  for (const char c : part) score += surprise(c);
  return score;
}

std::string rarest_part(const std::string& literal, std::size_t length) {
  if (literal.size() <= length) return literal;
  std::size_t best = 0;
  double best_score = -1e9;
  for (std::size_t at = 0; at + length <= literal.size(); ++at) {
    const std::string_view part = std::string_view(literal).substr(at, length);
    const double score = rarity(part);
    if (score > best_score) {
      best_score = score;
      best = at;
    }
  }
  return literal.substr(best, length);
}

Sampler::Sampler(const std::vector<std::string>& literals, std::size_t length)
    : length_(length), stride_(length - kGram + 1) {
  COLLWATCH_ASSERT(length >= kGram && length <= 8);
  if (length < 8) mask_ = (std::uint64_t{1} << (8 * length)) - 1;
  if (length == 8) mask_ = ~std::uint64_t{0};
  table_.resize((std::size_t{1} << kTableBits) / 64);
  for (std::size_t i = 0; i < literals.size(); ++i) {
    COLLWATCH_ASSERT(literals[i].size() == length);
    literals_.push_back(word_at(literals[i].data(), length) & mask_);
    for (std::size_t offset = 0; offset < stride_; ++offset) {
      const std::uint32_t gram = gram_at(literals[i].data() + offset);
      const std::uint32_t slot = slot_of(gram);
      table_[slot / 64] |= std::uint64_t{1} << (slot % 64);
      places_[gram].push_back({static_cast<int>(i), static_cast<std::uint8_t>(offset)});
    }
  }
}

void Sampler::check(std::string_view text, std::size_t at, std::uint32_t gram,
                    std::vector<Hit>& hits) const {
  const auto found = places_.find(gram);
  if (found == places_.end()) return;
  for (const Place& place : found->second) {
    if (place.offset > at) continue;
    const std::size_t start = at - place.offset;
    if (start + length_ > text.size()) continue;
    const std::uint64_t word = word_at(text.data() + start, length_) & mask_;
    if (word == literals_[static_cast<std::size_t>(place.literal)])
      hits.push_back({start, place.literal});
  }
}

void Sampler::find(std::string_view text, std::vector<Hit>& hits) const {
  if (literals_.empty() || text.size() < length_) return;
  const std::size_t first = hits.size();
  const std::uint64_t* const table = table_.data();
  const char* const data = text.data();
  const std::size_t last = text.size() - kGram;
  for (std::size_t at = 0; at <= last; at += stride_) {
    const std::uint32_t gram = gram_at(data + at);
    const std::uint32_t slot = slot_of(gram);
    if (((table[slot / 64] >> (slot % 64)) & 1U) != 0) check(text, at, gram, hits);
  }
  std::sort(hits.begin() + static_cast<std::ptrdiff_t>(first), hits.end(),
            [](const Hit& a, const Hit& b) {
              return a.at != b.at ? a.at < b.at : a.literal < b.literal;
            });
}

}  // namespace collwatch::match
