// SPDX-License-Identifier: Apache-2.0
//
// One question to NCCL's status service: connect, agree on the protocol, ask for JSON where it may
// be had, ask for the status, read to the end. Never blocks and never waits longer than its
// deadlines; whoever owns it calls advance() now and then. Once the status was asked for, the
// connection is kept until the server ends it or the deadline is over, whatever arrives: the
// server's thread, inside a process of the job, spins when its client leaves early. Lives on one
// thread.
#pragma once

#include <netinet/in.h>

#include <memory>
#include <string>

#include "daemon/base/event_loop.h"
#include "daemon/ras/reader.h"
#include "daemon/supervise/unique_fd.h"

namespace collwatch::ras {

/// How a question ended.
enum class Answer {
  report,       ///< there is one; Report::complete says whether it is whole
  no_listener,  ///< nobody there
  silent,       ///< connected and not greeted: a stopped process, or none of NCCL's
  not_ras,      ///< greeted with something else
  lost          ///< ended before the status was asked for
};

class Client {
 public:
  struct Options {
    sockaddr_storage address{};
    socklen_t address_size = 0;
    bool json = true;                  ///< ask for it; text where it is refused
    int collect_seconds = 10;          ///< how long the job's processes may take
    base::Millis step{1000};           ///< each step before the status
    base::Millis whole_report{20000};  ///< from asking for the status to its end
  };

  explicit Client(Options options) : options_(options) {}

  void start(base::TimePoint now);
  /// Does what can be done without waiting. True once it is over.
  bool advance(base::TimePoint now);

  bool is_over() const { return step_ == Step::over; }
  Answer answer() const { return answer_; }
  const std::string& why() const { return why_; }
  Report take_report() { return std::move(report_); }

 private:
  enum class Step { connect, hello, format, timeout, report, over };

  void on_connected(base::TimePoint now);
  void on_line(const std::string& line, base::TimePoint now);
  bool read_line(base::TimePoint now);
  void read_report(base::TimePoint now);
  void say(const std::string& line, Step next, base::TimePoint now);
  void ask_for_status(base::TimePoint now);
  void end(Answer answer, const std::string& why);
  void end_report(const std::string& trouble);

  const Options options_;
  supervise::UniqueFd socket_;
  Step step_ = Step::over;
  base::TimePoint due_{};
  std::string line_;
  std::unique_ptr<Reader> reader_;
  Report report_;
  Answer answer_ = Answer::lost;
  std::string why_;
};

/// "127.0.0.1:28028", "[::1]:28028"; false where the host is no address.
bool fill_address(const std::string& host, std::uint16_t port, Client::Options& options);

}  // namespace collwatch::ras
