// SPDX-License-Identifier: Apache-2.0
//
// The pieces that the prefix peelers are made of. Private to daemon/logs: a cursor over one line,
// and the list of peelers, each of which either takes one prefix off the front or changes nothing.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

#include "daemon/logs/peel.h"

namespace collwatch::logs {

/// Reads forward over a line; a step that does not fit leaves it where it is and says no.
class Cursor {
 public:
  explicit Cursor(std::string_view text) : text_(text) {}

  bool at_end() const { return at_ >= text_.size(); }
  char peek(std::size_t ahead = 0) const {
    return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0';
  }
  bool take(char c) { return peek() == c && !at_end() ? (++at_, true) : false; }
  bool take(std::string_view word);
  bool take_ignoring_case(std::string_view lower_case_word);
  void skip(char c) {
    while (!at_end() && text_[at_] == c) ++at_;
  }
  /// Digits, as many as `least` to `most` of them and no more.
  std::optional<long> number(int least = 1, int most = 9);
  /// Everything up to `end` (which is taken as well) within `most` characters.
  std::optional<std::string_view> until(char end, std::size_t most = 120);
  /// Characters out of which names of hosts, programs and pods are made.
  std::string_view name();

  std::string_view rest() const { return text_.substr(at_); }
  std::string_view taken() const { return text_.substr(0, at_); }
  std::size_t position() const { return at_; }
  void back_to(std::size_t position) { at_ = position; }

 private:
  std::string_view text_;
  std::size_t at_ = 0;
};

/// Takes one prefix off `text` and notes what it says, or changes neither and returns false.
using Peeler = bool (*)(std::string_view& text, Who& who);

// Launchers and shippers: who.
bool peel_rank_tag(std::string_view& text, Who& who);    // [rank3]:   [default0]:
bool peel_mpi_tag(std::string_view& text, Who& who);     // [1,3]<stderr>:   [3]<stdout>:
bool peel_task_label(std::string_view& text, Who& who);  // 12: text
bool peel_actor(std::string_view& text, Who& who);       // (RayTrainWorker pid=123, ip=10.0.0.4)
bool peel_replica(std::string_view& text, Who& who);     // trainer/0 [1]:
bool peel_pod(std::string_view& text, Who& who);         // [pod/trainer-3/pytorch]
bool peel_host_label(std::string_view& text, Who& who);  // worker-1: text   worker-1 | text
bool peel_journal(std::string_view& text, Who& who);     // sys0 vllm[68245]: text
bool peel_nccl(std::string_view& text, Who& who);        // node07:1234:1250 [3] NCCL WARN text
bool peel_host_pid(std::string_view& text, Who& who);    // [node07:1234] text, as Open MPI has it
bool peel_stern(std::string_view& text, Who& who);       // trainer-3 pytorch [rank3]: text
bool peel_bracketed_rank(std::string_view& text, Who& who);  // [rank 0/3 pid 17]   [RANK 3]
bool peel_box(std::string_view& text, Who& who);             // rich's box-drawing characters

// Loggers: when, how bad.
bool peel_syslog(std::string_view& text, Who& who);  // <14>1 2026-11-30T05:05:45Z node07 app 1 - -
bool peel_c10(std::string_view& text, Who& who);     // [E1129 12:00:00.123456789 f.cpp:607]
bool peel_glog(std::string_view& text, Who& who);    // E20261130 04:22:13.012705 12024 f.cpp:137]
bool peel_kernel(std::string_view& text, Who& who);  // [ 1843.308145]
bool peel_time(std::string_view& text, Who& who);    // 2026-11-30 05:05:45,842   [2026-...]
bool peel_container(std::string_view& text, Who& who);  // stderr F
bool peel_level(std::string_view& text, Who& who);      // INFO   [WARNING]   ERROR:torch.x:
bool peel_file_tag(std::string_view& text, Who& who);   // [launch.py:335:sigkill_handler]

/// "2026-11-30T05:05:45.842Z" or "Nov 30 05:05:45": what a log shipper writes, other than a logger,
/// which leaves out the zone.
bool is_shippers_time(std::string_view time);

/// I, W, E, F for a level word that begins at the cursor (which moves behind it), else 0.
char take_level(Cursor& cursor);

}  // namespace collwatch::logs
