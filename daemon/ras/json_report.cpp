// SPDX-License-Identifier: Apache-2.0
//
// Where we are in the document decides what a value means.
#include "daemon/ras/json_report.h"

#include <algorithm>
#include <utility>

namespace collwatch::ras {
namespace {

constexpr std::size_t kLongestName = 64;
constexpr std::int64_t kLargestInt = 2147483647;

int small(const std::string& text, int otherwise) {
  const std::int64_t value = number_of(text, -kLargestInt - 1);
  return value < -kLargestInt || value > kLargestInt ? otherwise : static_cast<int>(value);
}

/// "0xAE94" as "ae94"; "" for zero.
std::string hash_of(const std::string& text) {
  std::string hash = text.substr(0, 2) == "0x" ? text.substr(2) : text;
  hash = clean_name(hash, kLongestName);
  for (char& c : hash) {
    if (c >= 'A' && c <= 'F') c = static_cast<char>(c | 0x20);
  }
  return hash.find_first_not_of('0') == std::string::npos ? "" : hash;
}

}  // namespace

void JsonReport::on_open(const std::string& key, bool is_array) {
  const Place outer = places_.empty() ? Place::other : places_.back();
  Place inner = Place::other;
  if (places_.empty()) {
    inner = is_array ? Place::other : Place::root;
  } else if (outer == Place::root && is_array && key == "communicators") {
    inner = Place::communicators;
    has_communicators_ = true;
  } else if (outer == Place::root && !is_array && key == "ras") {
    inner = Place::ras;
  } else if (outer == Place::communicators && !is_array) {
    inner = Place::communicator;
    communicator_ = {};
  } else if (outer == Place::communicator && is_array && key == "ranks") {
    inner = Place::ranks;
  } else if (outer == Place::communicator && is_array && key == "missing_ranks") {
    inner = Place::missing_ranks;
  } else if ((outer == Place::ranks || outer == Place::missing_ranks) && !is_array) {
    inner = outer == Place::ranks ? Place::rank : Place::missing;
    rank_ = {};
    rank_.presence = outer == Place::ranks ? Presence::present : Presence::missing;
  } else if (outer == Place::rank && !is_array) {
    if (key == "status") inner = Place::rank_status;
    if (key == "collective_counts") inner = Place::counts;
  } else if (outer == Place::missing && !is_array && key == "status") {
    inner = Place::missing_status;
  }
  places_.push_back(inner);
}

void JsonReport::on_close() {
  const Place place = places_.back();
  places_.pop_back();
  if (place == Place::rank || place == Place::missing) end_rank();
  if (place == Place::communicator) end_communicator();
}

void JsonReport::on_value(const std::string& key, const std::string& text, bool is_string) {
  switch (places_.back()) {
    case Place::root:
      if (key == "nccl_version" && is_string) report_.version = clean_name(text, kLongestName);
      break;
    case Place::ras:
      if (key == "timeouts_count") report_.timeouts = small(text, 0);
      break;
    case Place::communicator:
      return on_communicator(key, text);
    case Place::rank:
    case Place::missing:
      return on_rank(key, text);
    case Place::rank_status:
      return on_rank_status(key, text);
    case Place::missing_status:
      return on_missing_status(key, text);
    case Place::counts:
      return on_count(key, text);
    default:
      break;
  }
}

void JsonReport::on_communicator(const std::string& key, const std::string& text) {
  if (key == "hash") communicator_.hash = hash_of(text);
  if (key == "secondary_hash") communicator_.secondary = clean_name(text, kLongestName);
  if (key == "size") communicator_.size = small(text, 0);
  if (key == "ranks_count") communicator_.present = small(text, 0);
  if (key == "missing_ranks_count") communicator_.missing = small(text, 0);
}

void JsonReport::on_rank(const std::string& key, const std::string& text) {
  if (key == "rank") rank_.rank = small(text, -1);
  if (key == "host") rank_.host = hosts_.index_of(clean_name(text, kLongestName));
  if (key == "pid") rank_.pid = small(text, 0);
  if (key == "cuda_dev") rank_.cuda_device = small(text, -1);
  if (key == "nvml_dev") rank_.nvml_device = small(text, -1);
}

void JsonReport::on_rank_status(const std::string& key, const std::string& text) {
  constexpr int kInProgress = 7;
  if (key == "init_state") {
    rank_.init_error = small(text, 0);
    const State state = rank_.init_error == 0 ? State::running : State::init;
    rank_.state = std::max(rank_.state, state);
    if (rank_.init_error == kInProgress) rank_.init_error = 0;
  }
  if (key == "async_error") rank_.async_error = small(text, 0);
  if (key == "abort_flag" && text == "true") rank_.state = State::abort;
  const bool ends = key == "finalize_called" || key == "destroy_flag";
  if (ends && text == "true") rank_.state = std::max(rank_.state, State::finalize);
}

void JsonReport::on_missing_status(const std::string& key, const std::string& text) {
  if (text != "true") return;
  if (key == "unresponsive") rank_.presence = std::max(rank_.presence, Presence::unresponsive);
  if (key == "considered_dead") rank_.presence = Presence::dead;
}

void JsonReport::on_count(const std::string& key, const std::string& text) {
  auto& names = report_.operations;
  const std::string name = clean_name(key, kLongestName);
  const auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end() && names.size() >= kMostOperations) return;
  const auto index = static_cast<std::size_t>(found - names.begin());
  if (found == names.end()) names.push_back(name);
  rank_.counts[index] = static_cast<std::uint64_t>(std::max<std::int64_t>(0, number_of(text, 0)));
}

void JsonReport::end_rank() {
  if (rank_.rank < 0) return;
  if (ranks_ >= kMostRanks) {
    too_many_ = true;
    return;
  }
  ++ranks_;
  communicator_.ranks.push_back(rank_);
}

void JsonReport::end_communicator() {
  // A communicator that is still being made can hide others behind rows of nothing.
  if (communicator_.hash.empty() || communicator_.size <= 0) {
    ++report_.dropped;
    return;
  }
  if (!known_.insert(communicator_.hash + ":" + communicator_.secondary).second) return;
  if (report_.communicators.size() >= kMostCommunicators) {
    too_many_ = true;
    return;
  }
  int present = 0;
  for (const Rank& rank : communicator_.ranks) present += rank.presence == Presence::present;
  communicator_.missing = static_cast<int>(communicator_.ranks.size()) - present;
  communicator_.present = present;
  summarise(communicator_, report_.operations);
  report_.communicators.push_back(std::move(communicator_));
}

void JsonReport::finish() {
  report_.complete = scanner_.is_complete() && has_communicators_ && !too_many_;
  if (scanner_.is_broken()) {
    report_.trouble = "its JSON is none";
  } else if (too_many_) {
    report_.trouble = "it has more ranks than are looked at";
  } else if (!report_.complete) {
    report_.trouble = "it ends before its end";
  }
}

}  // namespace collwatch::ras
