// SPDX-License-Identifier: Apache-2.0
//
// The JSON report of NCCL 2.28.7 and newer, taken in as it arrives. Unknown keys are passed over;
// communicators of size 0 are dropped, and each counts once. Used by reader.cpp.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/ras/json_scanner.h"
#include "daemon/ras/report.h"

namespace collwatch::ras {

class JsonReport final : private JsonScanner::Handler {
 public:
  static constexpr std::size_t kMostCommunicators = 16384;
  static constexpr std::size_t kMostRanks = 131072;  ///< of all communicators together

  /// Fills `report`, which must live longer.
  explicit JsonReport(Report& report) : report_(report), hosts_(report.hosts), scanner_(*this) {}

  void add(std::string_view bytes) { scanner_.add(bytes); }
  void finish();

 private:
  enum class Place {
    other,
    root,
    communicators,
    communicator,
    ranks,
    rank,
    rank_status,
    counts,
    missing_ranks,
    missing,
    missing_status,
    ras
  };

  void on_open(const std::string& key, bool is_array) override;
  void on_close() override;
  void on_value(const std::string& key, const std::string& text, bool is_string) override;

  void on_communicator(const std::string& key, const std::string& text);
  void on_rank(const std::string& key, const std::string& text);
  void on_rank_status(const std::string& key, const std::string& text);
  void on_missing_status(const std::string& key, const std::string& text);
  void on_count(const std::string& key, const std::string& text);
  void end_rank();
  void end_communicator();

  Report& report_;
  Hosts hosts_;
  JsonScanner scanner_;
  std::vector<Place> places_;
  Communicator communicator_;
  Rank rank_;
  std::size_t ranks_ = 0;
  bool has_communicators_ = false;
  bool too_many_ = false;
  std::set<std::string> known_;
};

}  // namespace collwatch::ras
