// SPDX-License-Identifier: Apache-2.0
//
// Who may read the status port: HTTP basic authentication against a list of users. Hashing a
// password takes long on purpose, so it happens on a thread of its own, one at a time, which rests
// three times as long as it worked and takes few questions at once, fewer still of one address:
// whoever guesses costs a quarter of a core at most, and no scrape waits for him. What was right
// once is known again without hashing, until the users change. ask() is for the HTTP thread,
// set_users() for any.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "exporters/http/pages.h"

namespace collwatch::exporters {

enum class Admission { admitted, refused, busy };

/// One password on its way to be hashed.
class Question {
 public:
  /// `wake` is called once, when there is an answer, at once if there is one already.
  void wait(std::function<void()> wake);
  void answer(Admission admission);
  std::optional<Admission> answered() const;

 private:
  mutable std::mutex mutex_;
  std::optional<Admission> answer_;
  std::function<void()> wake_;
};

class Access {
 public:
  static constexpr std::size_t kMostWaiting = 8;
  static constexpr std::size_t kMostOfOneAddress = 2;
  static constexpr std::size_t kMostKnown = 64;  ///< as many as there may be users

  Access() = default;
  ~Access() { stop(); }
  Access(const Access&) = delete;
  Access& operator=(const Access&) = delete;

  /// From now on these; none: everybody is admitted. Forgets who was admitted before.
  void set_users(std::vector<HttpUser> users);
  bool has_users() const;

  struct Asked {
    Admission admission = Admission::refused;
    std::shared_ptr<Question> question;  ///< not null: answered later, `admission` means nothing
  };
  /// `header`: of Authorization, as it came; empty: there was none.
  Asked ask(const std::string& header, const std::string& address);

  /// Every question has been answered when it returns; there are no further ones.
  void stop();

  /// Passwords that were hashed so far. For tests.
  std::uint64_t hashed() const { return hashed_; }

 private:
  struct Waiting {
    std::shared_ptr<Question> question;
    std::string header, address;
  };

  bool is_known(const std::string& header) const;
  void work();
  Admission judge(const std::string& header);
  void wipe_known();

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<HttpUser> users_;
  std::uint64_t generation_ = 0;   ///< of users_
  std::deque<std::string> known_;  ///< headers that were right, the latest last
  std::deque<Waiting> waiting_;    ///< the first one is being hashed
  bool is_stopped_ = false;
  std::atomic<std::uint64_t> hashed_{0};
  std::thread thread_;  ///< since the first question
};

}  // namespace collwatch::exporters
