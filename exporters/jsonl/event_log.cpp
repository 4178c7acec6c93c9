// SPDX-License-Identifier: Apache-2.0
//
// A bounded queue and the thread behind it. The thread holds the shared state itself: when the
// disk hangs at shutdown it is left behind rather than waited for.
#include "exporters/jsonl/event_log.h"

#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <system_error>
#include <utility>

#include "exporters/json/documents.h"
#include "exporters/jsonl/rotating_file.h"
#include "exporters/signals_blocked.h"

namespace collwatch::exporters {
namespace {

/// An event is some 500 bytes: half a megabyte at most while the disk hangs.
constexpr std::size_t kMaxQueued = 1024;
constexpr std::chrono::seconds kGrace{1};

}  // namespace

struct EventLog::Shared {
  explicit Shared(RotatingFile&& opened) : file(std::move(opened)) {}

  void write_until_stopped() {
    std::unique_lock<std::mutex> lock(mutex);
    while (true) {
      wake.wait(lock, [this] { return stopping || !queue.empty(); });
      if (queue.empty()) break;
      const std::string line = std::move(queue.front());
      queue.pop_front();
      lock.unlock();
      const bool written = file.append(line);
      lock.lock();
      if (!written) ++lost;
    }
    finished = true;
    wake.notify_all();
  }

  RotatingFile file;  ///< the writer's alone
  std::mutex mutex;   ///< guards everything below
  std::condition_variable wake;
  std::deque<std::string> queue;
  std::uint64_t lost = 0;
  bool stopping = false;
  bool finished = false;
};

model::Result<std::unique_ptr<EventLog>> EventLog::open(const std::string& path,
                                                        std::uint64_t max_bytes) {
  auto file = RotatingFile::open(path, max_bytes);
  if (!file) return model::fail(model::wrap(std::move(file).error(), "event log"));
  try {
    return std::unique_ptr<EventLog>(new EventLog(std::make_shared<Shared>(std::move(*file))));
  } catch (const std::system_error& e) {
    return model::fail(model::from_errno("event log: cannot start its thread", e.code().value()));
  }
}

EventLog::EventLog(std::shared_ptr<Shared> shared) : shared_(std::move(shared)) {
  const SignalsBlocked blocked;
  writer_ = std::thread([state = shared_] { state->write_until_stopped(); });
}

EventLog::~EventLog() {
  bool finished = false;
  {
    std::unique_lock<std::mutex> lock(shared_->mutex);
    shared_->stopping = true;
    shared_->wake.notify_all();
    finished = shared_->wake.wait_for(lock, kGrace, [this] { return shared_->finished; });
  }
  if (finished) {
    writer_.join();
  } else {
    writer_.detach();
  }
}

void EventLog::append(const Event& event) {
  std::string line = event_line(event);
  const std::lock_guard<std::mutex> lock(shared_->mutex);
  if (shared_->queue.size() >= kMaxQueued) {
    ++shared_->lost;
    return;
  }
  shared_->queue.push_back(std::move(line));
  shared_->wake.notify_all();
}

std::uint64_t EventLog::lost() const {
  const std::lock_guard<std::mutex> lock(shared_->mutex);
  return shared_->lost;
}

}  // namespace collwatch::exporters
