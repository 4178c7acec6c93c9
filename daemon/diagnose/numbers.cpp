// SPDX-License-Identifier: Apache-2.0
//
// Reading and writing lists of ranks.
#include "daemon/diagnose/numbers.h"

#include <algorithm>
#include <charconv>

namespace collwatch::diagnose {
namespace {
constexpr std::size_t kMost = 100000;
}

std::vector<int> number_list(std::string_view text) {
  std::vector<int> numbers;
  for (std::size_t i = 0; i < text.size() && numbers.size() < kMost;) {
    if (text[i] < '0' || text[i] > '9') {
      ++i;
      continue;
    }
    int value = 0;
    const auto [end, error] = std::from_chars(text.data() + i, text.data() + text.size(), value);
    const bool is_range_end =
        i > 0 && text[i - 1] == '-' && !numbers.empty() && value > numbers.back();
    i = static_cast<std::size_t>(end - text.data());
    if (error != std::errc()) continue;
    if (is_range_end) {
      for (int next = numbers.back() + 1; next < value && numbers.size() < kMost; ++next)
        numbers.push_back(next);
    }
    numbers.push_back(value);
  }
  return numbers;
}

std::optional<int> number(const std::string* text) {
  if (text == nullptr) return std::nullopt;
  int value = 0;
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), value);
  if (error != std::errc() || end == text->data()) return std::nullopt;
  return value;
}

std::string in_words(const std::set<int>& numbers) {
  if (numbers.empty()) return "none";
  const int first = *numbers.begin();
  const int last = *numbers.rbegin();
  if (numbers.size() > 3 && last - first + 1 == static_cast<int>(numbers.size())) {
    return std::to_string(first) + " to " + std::to_string(last);
  }
  std::string text;
  std::size_t count = 0;
  for (const int one : numbers) {
    if (count == 12) return text + " and " + std::to_string(numbers.size() - count) + " more";
    if (count > 0) text += count + 1 == numbers.size() ? " and " : ", ";
    text += std::to_string(one);
    ++count;
  }
  return text;
}

}  // namespace collwatch::diagnose
