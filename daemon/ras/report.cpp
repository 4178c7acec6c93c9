// SPDX-License-Identifier: Apache-2.0
//
// Counts and errors of all ranks into who differs. The most are taken to be right, not the first.
#include "daemon/ras/report.h"

#include <algorithm>
#include <charconv>
#include <tuple>

namespace collwatch::ras {
namespace {

constexpr std::size_t kMostHosts = 65536;
constexpr std::size_t kMostNamed = 64;
constexpr int kInProgress = 7;

constexpr std::array<std::string_view, 9> kErrors = {"",
                                                     "Unhandled CUDA error",
                                                     "System error",
                                                     "Internal error",
                                                     "Invalid argument",
                                                     "Invalid usage",
                                                     "Remote process error",
                                                     "In progress",
                                                     "Timeout"};

State furthest(State a, State b) {
  return std::max(a, b);
}

void add_error(std::vector<ErrorGroup>& groups, const Rank& rank, bool at_init, int code) {
  auto group = std::find_if(groups.begin(), groups.end(), [&](const ErrorGroup& one) {
    return one.at_init == at_init && one.code == code;
  });
  if (group == groups.end()) {
    groups.push_back({at_init, code, std::string(error_word(code)), {}, 0});
    group = groups.end() - 1;
  }
  ++group->count;
  if (group->ranks.size() < kMostNamed) group->ranks.push_back(rank.rank);
}

Difference difference_in(const Communicator& communicator, std::size_t operation) {
  std::map<std::uint64_t, int> ranks_at;
  for (const Rank& rank : communicator.ranks) {
    if (rank.presence == Presence::present) ++ranks_at[rank.counts[operation]];
  }
  Difference difference;
  for (const auto& [count, ranks] : ranks_at) {
    if (ranks < difference.usual_ranks) continue;
    difference.usual = count;
    difference.usual_ranks = ranks;
  }
  for (const Rank& rank : communicator.ranks) {
    if (rank.presence != Presence::present) continue;
    if (rank.counts[operation] == difference.usual) continue;
    if (difference.odd.size() < kMostNamed) {
      difference.odd.push_back({rank.rank, rank.counts[operation]});
    } else {
      ++difference.unnamed;
    }
  }
  return difference;
}

}  // namespace

const Rank* Communicator::find(int rank) const {
  const auto found =
      std::find_if(ranks.begin(), ranks.end(), [&](const Rank& one) { return one.rank == rank; });
  return found == ranks.end() ? nullptr : &*found;
}

const std::string& Report::host_of(const Rank& rank) const {
  return hosts[rank.host < hosts.size() ? rank.host : 0];
}

bool Report::is_incomplete() const {
  const bool is_row = std::any_of(groups.begin(), groups.end(), [](const Group& group) {
    return group.errors.find("INCOMPLETE") != std::string::npos;
  });
  return is_row || !lost.empty() || timeouts > 0 || !complete ||
         std::any_of(communicators.begin(), communicators.end(),
                     [](const Communicator& one) { return one.missing > 0; });
}

std::string_view error_word(int code) {
  const bool known = code >= 0 && code < static_cast<int>(kErrors.size());
  return known ? kErrors[static_cast<std::size_t>(code)] : "Unknown error";
}

int error_code(std::string_view word) {
  const auto same = [&](std::string_view one) {
    return one.size() == word.size() &&
           std::equal(one.begin(), one.end(), word.begin(),
                      [](char a, char b) { return (a | 0x20) == (b | 0x20); });
  };
  for (std::size_t i = 1; i < kErrors.size(); ++i) {
    if (same(kErrors[i])) return static_cast<int>(i);
  }
  // The second word is another one in some versions.
  for (std::size_t i = 1; i < kErrors.size(); ++i) {
    if (kErrors[i].substr(0, kErrors[i].find(' ')) == word.substr(0, word.find(' '))) {
      return static_cast<int>(i);
    }
  }
  return -1;
}

void summarise(Communicator& communicator, const std::vector<std::string>& operations) {
  for (const Rank& rank : communicator.ranks) {
    communicator.state = furthest(communicator.state, rank.state);
    const auto is_error = [](int code) { return code != 0 && code != kInProgress; };
    if (is_error(rank.init_error)) add_error(communicator.errors, rank, true, rank.init_error);
    if (is_error(rank.async_error)) add_error(communicator.errors, rank, false, rank.async_error);
  }
  for (std::size_t i = 0; i < operations.size() && i < kMostOperations; ++i) {
    Difference difference = difference_in(communicator, i);
    if (difference.odd.empty()) continue;
    difference.operation = operations[i];
    communicator.differences.push_back(std::move(difference));
  }
  communicator.mismatch = !communicator.differences.empty();
}

std::uint32_t Hosts::index_of(const std::string& name) {
  const auto known = known_.find(name);
  if (known != known_.end()) return known->second;
  if (names_.size() >= kMostHosts) return 0;
  const auto index = static_cast<std::uint32_t>(names_.size());
  names_.push_back(name);
  known_[name] = index;
  return index;
}

std::string clean_name(std::string_view text, std::size_t limit) {
  std::string clean(text.substr(0, limit));
  std::replace_if(
      clean.begin(), clean.end(), [](char c) { return c < 0x20 || c >= 0x7f; }, '?');
  return clean;
}

std::int64_t number_of(std::string_view text, std::int64_t otherwise) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() && !text.empty() ? value
                                                                                   : otherwise;
}

}  // namespace collwatch::ras
