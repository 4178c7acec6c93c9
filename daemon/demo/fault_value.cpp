// SPDX-License-Identifier: Apache-2.0
//
// Numbers are read with strtod and must be used up to the last character.
#include "daemon/demo/fault_value.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <sstream>

namespace collwatch::demo {
namespace {

using model::Result;
using Millis = std::chrono::milliseconds;
using Units = std::map<std::string, double>;

constexpr double kDefaultMtu = 1000;
constexpr double kDefaultRate = 10e6;
constexpr double kDefaultLoss = 0.1;
constexpr int kMostNodes = 8;  // one clique

tl::unexpected<model::Error> wrong(const std::string& what) {
  return model::fail(model::ErrorCode::invalid_argument, what);
}

/// A number without a sign and its unit, times what the unit stands for.
std::optional<double> parse_amount(const std::string& text, const Units& units) {
  const std::size_t digits = std::min(text.find_first_not_of("0123456789."), text.size());
  if (digits == 0) return std::nullopt;
  const auto unit = units.find(text.substr(digits));
  const std::string number = text.substr(0, digits);
  char* end = nullptr;
  const double value = std::strtod(number.c_str(), &end);
  if (unit == units.end() || end != number.c_str() + number.size()) return std::nullopt;
  const double total = value * unit->second;
  return std::isfinite(total) && total <= 1e12 ? std::optional(total) : std::nullopt;
}

/// +0.6s, -1h: milliseconds.
std::optional<double> parse_offset(const std::string& text) {
  const bool is_signed = !text.empty() && (text[0] == '+' || text[0] == '-');
  const auto size = parse_time(text.substr(is_signed ? 1 : 0));
  if (!size || size->count() == 0) return std::nullopt;
  return static_cast<double>(size->count()) * (text[0] == '-' ? -1 : 1);
}

/// The value, its default where nothing was given, or the sentence that tells what to write.
Result<double> value_of(FaultKind kind, const std::optional<std::string>& text, int nodes) {
  std::optional<double> value;
  const std::string given = text.value_or("");
  switch (kind) {
    case FaultKind::mtu:
      value = text ? parse_amount(given, {{"", 1}}) : kDefaultMtu;
      if (value && *value >= 100 && *value < 65535) return *value;
      return wrong("'" + given + "' is no packet size; write =1000, in bytes");
    case FaultKind::slow:
      value =
          text ? parse_amount(given, {{"kbit", 1e3}, {"mbit", 1e6}, {"gbit", 1e9}}) : kDefaultRate;
      if (value && *value >= 1e3) return *value;
      return wrong("'" + given + "' is no rate; write =10mbit, kbit or gbit");
    case FaultKind::loss:
      value = text ? parse_amount(given, {{"%", 0.01}}) : kDefaultLoss;
      if (value && *value > 0 && *value <= 1) return *value;
      return wrong("'" + given + "' is no share of the packets; write =10%");
    case FaultKind::clock:
      if ((value = parse_offset(given))) return *value;
      return wrong("how wrong? write =+0.6s, =+30.5s or =-1h");
    case FaultKind::scale:
      value = parse_amount(given, {{"", 1}});
      if (value && *value == std::floor(*value) && *value > nodes && *value <= kMostNodes) {
        return *value;
      }
      return wrong("to how many nodes? write =8; there are " + std::to_string(nodes) + ", and " +
                   std::to_string(kMostNodes) + " at most");
    default:
      return 0;
  }
}

/// The numbers of "n0,n1", or nothing.
std::optional<std::vector<int>> parse_side(const std::string& text, int nodes) {
  std::vector<int> side;
  std::istringstream words(text);
  for (std::string word; std::getline(words, word, ',');) {
    const auto node = parse_node(word, nodes);
    if (!node) return std::nullopt;
    side.push_back(*node);
  }
  std::sort(side.begin(), side.end());
  return side.empty() ? std::nullopt : std::optional(side);
}

}  // namespace

std::optional<Millis> parse_time(const std::string& text) {
  const auto total = parse_amount(text, {{"ms", 1}, {"s", 1000}, {"m", 60000}, {"h", 3600000}});
  if (!total || *total > 1e9) return std::nullopt;
  return Millis(std::llround(*total));
}

std::optional<int> parse_node(const std::string& text, int nodes) {
  if (text.size() < 2 || text.size() > 4 || text[0] != 'n') return std::nullopt;
  if (text.find_first_not_of("0123456789", 1) != std::string::npos) return std::nullopt;
  const int node = std::atoi(text.c_str() + 1);
  if (node >= nodes || node_name(node) != text) return std::nullopt;
  return node;
}

std::string existing(int nodes) {
  return "the nodes are n0 to " + node_name(nodes - 1);
}

Result<void> parse_value(const std::optional<std::string>& text, int nodes, Fault& fault) {
  const auto value = value_of(fault.kind, text, nodes);
  if (!value) return model::fail(value.error());
  fault.value = *value;
  return {};
}

Result<void> parse_sides(const std::string& text, int nodes, Fault& fault) {
  const std::size_t slash = std::min(text.find('/'), text.size());
  const auto one = parse_side(text.substr(0, slash), nodes);
  const auto other = parse_side(slash < text.size() ? text.substr(slash + 1) : "", nodes);
  if (!one || !other) {
    return wrong("which side is which? write n0,n1/n2,n3; " + existing(nodes));
  }
  std::vector<int> all = *one;
  all.insert(all.end(), other->begin(), other->end());
  std::sort(all.begin(), all.end());
  if (std::adjacent_find(all.begin(), all.end()) != all.end()) {
    return wrong("no node can be on both sides, or on one twice");
  }
  if (all.size() != static_cast<std::size_t>(nodes)) {
    return wrong("every node must be on one of the two sides; " + existing(nodes));
  }
  // Blamed is the smaller side; of two equal ones that without the lowest name.
  const bool first = one->size() < other->size() ||
                     (one->size() == other->size() && one->front() > other->front());
  fault.side = first ? *one : *other;
  fault.rest = first ? *other : *one;
  if (fault.side.size() == 1) fault.node = fault.side.front();
  return {};
}

}  // namespace collwatch::demo
