// SPDX-License-Identifier: Apache-2.0
//
// What stands behind POST /api/v1/diagnose: each log is read by a `collwatch diagnose` of its own,
// with a deadline and little memory, so that no log can slow, grow or end the daemon. Called on the
// HTTP thread; a thread of its own waits for each child (there are never more than DiagnosePort
// allows).
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "daemon/supervise/unique_fd.h"
#include "exporters/http/pages.h"

namespace collwatch::posted_logs {

class Runner {
 public:
  struct Options {
    std::string executable;  ///< collwatch; an absolute path
    std::chrono::milliseconds deadline{10000};
    std::uint64_t most_memory = std::uint64_t{1} << 30;  ///< of address space
  };
  using Answer = std::function<void(exporters::Reply)>;

  explicit Runner(Options options);
  ~Runner();
  Runner(const Runner&) = delete;
  Runner& operator=(const Runner&) = delete;

  /// A file of the user's own fingerprints for what is read from now on; empty: none. From any
  /// thread.
  void use_fingerprints(const std::string& file);

  /// Takes over `log`. Answers once, from a thread of its own.
  void run(int log, Answer answer);
  /// Ends what runs; every answer has been given when it returns. Nothing is taken after it.
  void stop();

 private:
  struct Job;
  exporters::Reply diagnose(int log) const;
  void join_finished();

  Options options_;
  mutable std::mutex fingerprints_mutex_;
  std::string fingerprints_;
  supervise::UniqueFd stop_;  ///< an eventfd
  std::list<std::unique_ptr<Job>> jobs_;
  bool stopped_ = false;
};

}  // namespace collwatch::posted_logs
