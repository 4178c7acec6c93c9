// SPDX-License-Identifier: Apache-2.0
//
// One page in the making: samples of the metrics in metric_table.h, then text. It keeps the
// promises that a scrape depends on whatever the values are: label text is UTF-8, no two samples
// of a metric carry the same labels, and no metric outgrows its row in the table. The only user of
// prometheus-cpp is its .cpp. Used by render.cpp; lives for one rendering, on one thread.
#pragma once

#include <array>
#include <initializer_list>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "exporters/prometheus/metric_table.h"
#include "exporters/snapshot.h"

namespace collwatch::exporters {

class Exposition {
 public:
  using Labels = std::initializer_list<std::string_view>;

  /// Values in the order of the table's label names. A repeated label set, or one too many, is
  /// dropped: the first (worst first in a Snapshot) stays.
  void add(MetricId id, Labels labels, double value);
  void add(MetricId id, Labels labels, const HistogramData& value,
           const std::array<double, 10>& bounds);

  /// The page in the text format 0.0.4; metrics in the table's order, those without samples absent.
  std::string text() const;

 private:
  struct Sample {
    std::vector<std::string> labels;
    double value = 0;
    HistogramData histogram;
    const std::array<double, 10>* bounds = nullptr;
  };
  struct Family {
    std::vector<Sample> samples;
    std::set<std::vector<std::string>> seen;
  };
  Sample* admit(MetricId id, Labels labels);

  std::array<Family, kMetrics.size()> families_;
};

}  // namespace collwatch::exporters
