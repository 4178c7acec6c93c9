// SPDX-License-Identifier: Apache-2.0
//
// Keys that Gloo uses: "<rank>" for a member's record, and in the 2022 build "rank_<rank>" for its
// host name, from which Gloo counts members on this host. The count has no use over TCP, so every
// member gets a made-up name at once instead of a wait.
#include "probes/gloo/store.h"

#include <charconv>

namespace collwatch::gloo_probe {
namespace {

constexpr std::string_view kHostNamePrefix = "rank_";

}  // namespace

void MeetingStore::deliver(std::vector<wire::Blob> records) {
  const std::lock_guard lock(mutex_);
  if (records_.empty()) records_ = std::move(records);
  changed_.notify_all();
}

void MeetingStore::refuse(Failure failure) {
  const std::lock_guard lock(mutex_);
  refused_ = std::move(failure);
  changed_.notify_all();
}

void MeetingStore::interrupt() {
  const std::lock_guard lock(mutex_);
  interrupted_ = true;
  changed_.notify_all();
}

void MeetingStore::await_delivery() {
  std::unique_lock lock(mutex_);
  changed_.wait_until(lock, options_.deadline,
                      [&] { return interrupted_ || refused_ || !records_.empty(); });
  if (interrupted_) throw Interrupted();
  if (refused_) throw ProbeError(*refused_);
  // A result that comes later, to a process that was stopped meanwhile, is of no use either: the
  // others have given up, and must not be dialled now.
  if (!met_ && Clock::now() >= options_.deadline) {
    throw ProbeError(model::Outcome::never_joined, "no meeting took place before the deadline");
  }
  met_ = true;
}

std::optional<int> MeetingStore::rank_of(const std::string& key) const {
  int rank = -1;
  const auto [end, error] = std::from_chars(key.data(), key.data() + key.size(), rank);
  if (error != std::errc() || end != key.data() + key.size()) return std::nullopt;
  if (rank < 0 || rank >= options_.size) return std::nullopt;
  return rank;
}

void MeetingStore::set(const std::string& key, const std::vector<char>& data) {
  if (rank_of(key) != options_.rank) return;
  own_record_ = data;
  options_.publish(data);
}

std::vector<char> MeetingStore::get(const std::string& key) {
  if (key.starts_with(kHostNamePrefix)) return {key.begin(), key.end()};
  const auto rank = rank_of(key);
  if (!rank) throw ProbeError(model::Outcome::error, "Gloo asked the store for '" + key + "'");
  if (*rank == options_.rank) return own_record_;
  await_delivery();
  // Delivered once and never changed after, so it may be read without the lock.
  const wire::Blob& record = records_[static_cast<std::size_t>(*rank)];
  options_.before_connect(own_record_, record);
  return record;
}

void MeetingStore::wait(const std::vector<std::string>& keys) {
  for (const std::string& key : keys) {
    if (key.starts_with(kHostNamePrefix) || rank_of(key) == options_.rank) continue;
    await_delivery();
  }
}

void MeetingStore::wait(const std::vector<std::string>& keys, const std::chrono::milliseconds&) {
  wait(keys);  // our own deadline is the one that counts
}

}  // namespace collwatch::gloo_probe
