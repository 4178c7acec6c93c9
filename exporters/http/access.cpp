// SPDX-License-Identifier: Apache-2.0
//
// A queue and one thread. Neither names nor passwords leave this file.
#include "exporters/http/access.h"

#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <string_view>
#include <utility>

#include "exporters/http/password.h"
#include "exporters/signals_blocked.h"

namespace collwatch::exporters {
namespace {

constexpr std::size_t kLongestHeader = 1024;
constexpr std::string_view kScheme = "basic ";
constexpr int kYielding = 10;
constexpr int kRest = 3;  ///< times the time that hashing took

/// Nothing where it is not base64.
std::optional<std::string> from_base64(std::string_view text) {
  constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  while (!text.empty() && text.back() == '=') text.remove_suffix(1);
  std::string out;
  unsigned bits = 0;
  int count = 0;
  for (const char c : text) {
    const std::size_t digit = kDigits.find(c);
    if (digit == std::string_view::npos) return std::nullopt;
    bits = (bits << 6 | static_cast<unsigned>(digit)) & 0xFFFFFU;
    count += 6;
    if (count < 8) continue;
    count -= 8;
    out += static_cast<char>(bits >> count & 0xFFU);
  }
  return out;
}

/// User and password of an Authorization header.
std::optional<std::pair<std::string, std::string>> parts_of(std::string_view header) {
  if (header.size() > kLongestHeader || header.size() < kScheme.size()) return std::nullopt;
  const bool is_basic =
      std::equal(kScheme.begin(), kScheme.end(), header.begin(), [](char a, char b) {
        return a == (b >= 'A' && b <= 'Z' ? static_cast<char>(b - 'A' + 'a') : b);
      });
  if (!is_basic) return std::nullopt;
  header.remove_prefix(kScheme.size());
  while (!header.empty() && header.front() == ' ') header.remove_prefix(1);
  const auto text = from_base64(header);
  if (!text || text->find('\0') != std::string::npos) return std::nullopt;
  const std::size_t colon = text->find(':');
  if (colon == std::string::npos) return std::nullopt;
  return std::pair(text->substr(0, colon), text->substr(colon + 1));
}

void wipe(std::string& text) {
  ::explicit_bzero(text.data(), text.size());
}

}  // namespace

void Question::wait(std::function<void()> wake) {
  {
    const std::lock_guard lock(mutex_);
    if (!answer_) {
      wake_ = std::move(wake);
      return;
    }
  }
  wake();
}

void Question::answer(Admission admission) {
  std::function<void()> wake;
  {
    const std::lock_guard lock(mutex_);
    if (answer_) return;
    answer_ = admission;
    wake = std::exchange(wake_, nullptr);
  }
  if (wake) wake();
}

std::optional<Admission> Question::answered() const {
  const std::lock_guard lock(mutex_);
  return answer_;
}

void Access::set_users(std::vector<HttpUser> users) {
  const std::lock_guard lock(mutex_);
  users_ = std::move(users);
  ++generation_;
  wipe_known();
}

void Access::wipe_known() {
  for (std::string& header : known_) wipe(header);
  known_.clear();
}

bool Access::has_users() const {
  const std::lock_guard lock(mutex_);
  return !users_.empty();
}

/// All are compared, whichever it is.
bool Access::is_known(const std::string& header) const {
  bool found = false;
  for (const std::string& known : known_) found |= equal_in_constant_time(known, header);
  return found;
}

Access::Asked Access::ask(const std::string& header, const std::string& address) {
  const std::lock_guard lock(mutex_);
  if (users_.empty()) return {Admission::admitted, nullptr};
  if (is_known(header)) return {Admission::admitted, nullptr};
  if (!parts_of(header)) return {Admission::refused, nullptr};
  const auto of_address = std::count_if(waiting_.begin(), waiting_.end(),
                                        [&](const Waiting& one) { return one.address == address; });
  if (is_stopped_ || waiting_.size() >= kMostWaiting ||
      static_cast<std::size_t>(of_address) >= kMostOfOneAddress) {
    return {Admission::busy, nullptr};
  }
  if (!thread_.joinable()) {
    const SignalsBlocked blocked;
    thread_ = std::thread([this] { work(); });
  }
  auto question = std::make_shared<Question>();
  waiting_.push_back({question, header, address});
  changed_.notify_all();
  return {Admission::refused, std::move(question)};
}

/// Without the lock: this is what takes long.
Admission Access::judge(const std::string& header) {
  std::vector<HttpUser> users;
  std::uint64_t generation = 0;
  {
    const std::lock_guard lock(mutex_);
    if (is_known(header)) return Admission::admitted;  // asked by several at once
    users = users_;
    generation = generation_;
  }
  auto parts = parts_of(header);
  if (!parts || users.empty()) return Admission::refused;
  const auto user = std::find_if(users.begin(), users.end(), [&](const HttpUser& one) {
    return equal_in_constant_time(one.name, parts->first);
  });
  // A name that does not exist takes as long as a wrong password.
  const std::string& hash = user == users.end() ? users.front().password_hash : user->password_hash;
  const bool is_right = is_password_of(parts->second, hash) && user != users.end();
  ++hashed_;
  wipe(parts->second);
  if (!is_right) return Admission::refused;
  const std::lock_guard lock(mutex_);
  if (generation != generation_) return Admission::busy;  // the users have just changed
  if (known_.size() >= kMostKnown) {
    wipe(known_.front());
    known_.pop_front();
  }
  known_.push_back(header);
  return Admission::admitted;
}

void Access::work() {
  ::setpriority(PRIO_PROCESS, static_cast<id_t>(::syscall(SYS_gettid)), kYielding);
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [&] { return is_stopped_ || !waiting_.empty(); });
    if (is_stopped_) return;
    const std::string header = waiting_.front().header;
    const std::shared_ptr<Question> question = waiting_.front().question;
    lock.unlock();
    const auto began = std::chrono::steady_clock::now();
    const Admission admission = judge(header);
    const auto took = std::chrono::steady_clock::now() - began;
    question->answer(admission);
    lock.lock();
    if (!waiting_.empty()) {
      wipe(waiting_.front().header);
      waiting_.pop_front();
    }
    if (admission == Admission::admitted) continue;
    changed_.wait_for(lock, kRest * took, [&] { return is_stopped_; });
  }
}

void Access::stop() {
  std::deque<Waiting> waiting;
  {
    const std::lock_guard lock(mutex_);
    is_stopped_ = true;
    waiting = waiting_;
    changed_.notify_all();
  }
  for (const Waiting& one : waiting) one.question->answer(Admission::busy);
  if (thread_.joinable()) thread_.join();
  const std::lock_guard lock(mutex_);
  wipe_known();
}

}  // namespace collwatch::exporters
