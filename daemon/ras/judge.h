// SPDX-License-Identifier: Apache-2.0
//
// Reports into evidence: ranks that are dead or missing, errors and who had one first, ranks that
// stand behind and do not move, communicators that never come to be. Counts are launches by the
// host, so they tell whose program lags, never whether a GPU finished; that all stand still
// together is not told, since an idle job looks the same. Keeps what was behind in the report
// before. Pure; times are passed in.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "daemon/base/event_loop.h"
#include "daemon/ras/report.h"
#include "probes/model/vocabulary.h"

namespace collwatch::ras {

struct Finding {
  model::Fingerprint id = model::Fingerprint::none;
  bool initiating = false;  ///< else collateral
  int rank = -1;            ///< of the job; -1: nobody, or not known
  std::string host;         ///< as the processes bound it, an address as a rule
  std::string text;
};

class Judge {
 public:
  /// In how many successive reports the same must be seen, and over what time, before it counts.
  static constexpr int kSamples = 3;
  static constexpr base::Millis kApart{5000};  ///< reports closer than this count once
  static constexpr base::Millis kInit{60000};  ///< how long a communicator may take to be made
  static constexpr std::size_t kMostFindings = 16;
  static constexpr int kMostNamed = 4;

  /// `world_size` of the job, 0 where it is not known. `is_last`: there will be no other report of
  /// it, so who is missing now is told now.
  std::vector<Finding> add(const Report& report, int world_size, bool is_last, base::TimePoint now);

 private:
  /// Communicator (or group), what about it, where it stands: the same key is the same state.
  using Key = std::tuple<std::string, std::string, std::string>;
  struct Seen {
    int samples = 0;
    base::TimePoint first{};
    base::TimePoint last{};
  };
  class World;
  /// A rank that stands elsewhere than the most.
  struct Odd {
    std::string key;
    std::string text;  ///< "AllReduce 1199 of 1200"
    bool is_ahead = false;
  };

  void look_at_counts(const World& world, const Communicator& communicator);
  void tell_odd(const World& world, const Communicator& communicator, int number, const Odd& odd);
  void tell_echo(const World& world, const Communicator& communicator, const ErrorGroup& group,
                 bool alone);
  void tell_error(const World& world, const Communicator& communicator, const ErrorGroup& group,
                  int echoes);
  void look_at_errors(const World& world, const Communicator& communicator);
  void look_at_missing(const World& world, const Communicator& communicator);
  void look_at_init(const World& world);
  void look_at_lost(const World& world);
  /// Whether this has been so for long enough; counts it for this report.
  bool lasts(Key key, base::Clock::duration least = kApart);
  void tell(Finding finding);

  std::map<Key, Seen> seen_;
  std::map<Key, Seen> now_seen_;
  base::TimePoint now_{};
  std::optional<base::TimePoint> sampled_;
  bool is_last_ = false;
  std::vector<Finding> findings_;
};

}  // namespace collwatch::ras
