// SPDX-License-Identifier: Apache-2.0
//
// One thread per agent: ask, stamp, keep, pause. The pause is short enough for times of a tenth of
// a second and long enough to cost an agent next to nothing.
#include "daemon/demo/poll.h"

#include <signal.h>

#include <algorithm>
#include <utility>

#include "daemon/http_client/http_client.h"

namespace collwatch::demo {
namespace {

constexpr std::chrono::milliseconds kPause{150};
constexpr std::chrono::milliseconds kPatience{800};

}  // namespace

Poller::Poller(std::vector<Target> targets, Clock::time_point origin)
    : targets_(std::move(targets)), origin_(origin), complaints_(targets_.size()) {
  // The threads leave every signal to the main thread.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  for (std::size_t i = 0; i < targets_.size(); ++i) {
    threads_.emplace_back([this, i] { ask_for_ever(static_cast<int>(i)); });
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

Poller::~Poller() {
  stop_ = true;
  for (std::thread& thread : threads_) thread.join();
}

void Poller::ask_for_ever(int agent) {
  const Target& target = targets_[agent];
  while (!stop_) {
    const auto reply = http_client::http_get(target.url, kPatience, target.netns);
    Sample sample;
    sample.agent = agent;
    sample.at = std::chrono::duration<double>(Clock::now() - origin_).count();
    std::string complaint;
    if (reply && reply->status == 200) {
      auto status = parse_status(reply->body);
      if (status) sample.status = *std::move(status);
      if (!status) complaint = status.error().text;
    }
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      samples_.push_back(std::move(sample));
      complaints_[agent] = std::move(complaint);
    }
    std::this_thread::sleep_for(kPause);
  }
}

std::vector<Sample> Poller::take() {
  std::vector<Sample> taken;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    taken = std::exchange(samples_, {});
  }
  std::stable_sort(taken.begin(), taken.end(),
                   [](const Sample& a, const Sample& b) { return a.at < b.at; });
  return taken;
}

std::string Poller::complaint(int agent) {
  const std::lock_guard<std::mutex> lock(mutex_);
  return complaints_[agent];
}

}  // namespace collwatch::demo
