// SPDX-License-Identifier: Apache-2.0
//
// The text report of NCCL 2.24 and newer, a line at a time. It is meant for people: lines that are
// not known are passed over. Rows that cannot be (no node, more ranks missing than there are) are
// the server reading memory that it does not own, and are dropped with what is said about them.
// Used by reader.cpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "daemon/ras/report.h"

namespace collwatch::ras {

class TextReport {
 public:
  static constexpr std::size_t kLongestLine = 4096;
  static constexpr std::size_t kMostGroups = 1024;
  static constexpr std::size_t kMostCommunicators = 16384;
  static constexpr std::size_t kMostRanks = 65536;

  /// Fills `report`, which must live longer.
  explicit TextReport(Report& report) : report_(report), hosts_(report.hosts) {}

  void add(std::string_view bytes);
  void finish();

 private:
  enum class Part { banner, summary, communicators, errors, warnings };
  enum class Topic { none, missing, counts, status, errors, dead };

  void on_line(std::string_view line);
  bool on_heading(std::string_view line);
  void on_group(std::string_view line);
  bool on_subject(std::string_view line);
  void drop_subject();
  void on_body(std::string_view line);
  bool on_topic(std::string_view line);
  void on_several(std::string_view line);
  void on_rank(std::string_view line);
  void on_missing_numbers(std::string_view line);
  void on_process(std::string_view line);
  Rank* rank_named(std::string_view line);
  void end_difference();
  void end_subject();

  Report& report_;
  Hosts hosts_;
  std::string line_;
  bool is_cut_ = false;
  Part part_ = Part::banner;
  std::map<int, Group> known_groups_;  ///< by their number in the table
  /// In its communicator's list: by communicator and rank.
  std::map<std::pair<std::size_t, int>, std::size_t> places_;
  bool ends_in_line_ = false;
  bool has_table_ = false;

  bool in_subject_ = false;
  bool is_dropped_ = false;  ///< what is said about the communicator cannot be
  std::map<std::string, std::size_t> by_hash_;
  std::size_t communicator_ = 0;
  bool has_communicator_ = false;
  bool is_new_communicator_ = false;  ///< made by this subject
  Topic topic_ = Topic::none;
  Difference difference_;
  bool has_difference_ = false;
  std::uint64_t count_said_ = 0;  ///< of the ranks that are named next
  State state_said_ = State::unknown;
  bool at_init_ = false;
};

}  // namespace collwatch::ras
