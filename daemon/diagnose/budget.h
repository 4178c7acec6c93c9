// SPDX-License-Identifier: Apache-2.0
//
// What the patterns of a user's own files may cost. Each is linear in the text, but some are a
// hundred times slower than others, and which ones shows only on the text. So their processor time
// is taken (on every eighth line, to keep the taking cheap), and when together they have used more
// than they may for what was read so far, the dearest are not tried any more, which is told. What
// is built in is never timed and never switched off. Used by the collector; one Budget for each
// diagnosis.
#pragma once

#include <chrono>
#include <cstddef>
#include <vector>

#include "daemon/diagnose/facts.h"
#include "daemon/diagnose/patterns.h"

namespace collwatch::diagnose {

/// For all own patterns together. The default is some five times what reading alone takes, so that
/// only what is out of all proportion is ever switched off.
struct Allowance {
  std::chrono::nanoseconds at_once = std::chrono::seconds(1);
  double per_byte_ns = 20;
};

class Budget {
 public:
  explicit Budget(const Patterns& patterns, Allowance allowance = {});

  struct Stopped {
    int expression = 0;
    Place place;  ///< the last line that it was tried on
  };

  bool is_off(int expression) const { return is_off_[static_cast<std::size_t>(expression)]; }
  /// Whether some expression without a literal is still to be tried on every line.
  bool tries_every_line() const { return unfiltered_on_ > 0; }
  const std::vector<Stopped>& stopped() const { return stopped_; }

  void read(std::size_t bytes) { bytes_ += static_cast<double>(bytes); }
  /// Whether the patterns on the next line are to be timed.
  bool takes_time() { return lines_++ % kOneIn == 0; }
  /// What one of them took on a line whose time is taken.
  void charge(int expression, std::chrono::nanoseconds taken, Place place);

  /// Of this thread.
  static std::chrono::nanoseconds processor_time();

 private:
  static constexpr unsigned kOneIn = 8;

  const Patterns& patterns_;
  Allowance allowance_;
  std::vector<double> spent_ns_;  ///< of each expression
  std::vector<bool> is_off_;
  std::vector<Stopped> stopped_;
  std::size_t unfiltered_on_;
  double total_ns_ = 0;  ///< of those that are on
  double bytes_ = 0;
  unsigned lines_ = 0;
};

}  // namespace collwatch::diagnose
