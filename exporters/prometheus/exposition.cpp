// SPDX-License-Identifier: Apache-2.0
//
// Samples to prometheus-cpp's families to text. The one file that knows prometheus-cpp, whose
// serializer does the escaping and the number formats.
#include "exporters/prometheus/exposition.h"

#include <prometheus/metric_family.h>
#include <prometheus/text_serializer.h>

#include <limits>
#include <utility>

#include "exporters/prometheus/utf8.h"
#include "probes/model/result.h"

namespace collwatch::exporters {
namespace {

prometheus::MetricType library_type(MetricType type) {
  switch (type) {
    case MetricType::counter:
      return prometheus::MetricType::Counter;
    case MetricType::gauge:
      return prometheus::MetricType::Gauge;
    case MetricType::histogram:
      return prometheus::MetricType::Histogram;
  }
  return prometheus::MetricType::Untyped;
}

prometheus::ClientMetric::Histogram cumulative(const HistogramData& data,
                                               const std::array<double, 10>& bounds) {
  prometheus::ClientMetric::Histogram out;
  std::uint64_t count = 0;
  for (std::size_t i = 0; i < data.buckets.size(); ++i) {
    count += data.buckets[i];
    const double bound = i < bounds.size() ? bounds[i] : std::numeric_limits<double>::infinity();
    out.bucket.push_back({count, bound});
  }
  out.sample_count = count;
  out.sample_sum = data.sum;
  return out;
}

}  // namespace

Exposition::Sample* Exposition::admit(MetricId id, Labels labels) {
  const Metric& row = metric(id);
  COLLWATCH_ASSERT(labels.size() == row.label_count());
  Family& family = families_[static_cast<std::size_t>(id)];
  if (family.samples.size() >= row.label_sets) return nullptr;
  std::vector<std::string> values;
  values.reserve(labels.size());
  for (std::string_view label : labels) values.push_back(valid_utf8(label));
  if (!family.seen.insert(values).second) return nullptr;
  family.samples.emplace_back();
  family.samples.back().labels = std::move(values);
  return &family.samples.back();
}

void Exposition::add(MetricId id, Labels labels, double value) {
  COLLWATCH_ASSERT(metric(id).type != MetricType::histogram);
  if (Sample* sample = admit(id, labels)) sample->value = value;
}

void Exposition::add(MetricId id, Labels labels, const HistogramData& value,
                     const std::array<double, 10>& bounds) {
  COLLWATCH_ASSERT(metric(id).type == MetricType::histogram);
  if (Sample* sample = admit(id, labels)) {
    sample->histogram = value;
    sample->bounds = &bounds;
  }
}

std::string Exposition::text() const {
  std::vector<prometheus::MetricFamily> page;
  for (const Metric& row : kMetrics) {
    const Family& family = families_[static_cast<std::size_t>(row.id)];
    if (family.samples.empty()) continue;
    prometheus::MetricFamily out;
    out.name = row.name;
    out.help = row.help;
    out.type = library_type(row.type);
    for (const Sample& sample : family.samples) {
      prometheus::ClientMetric metric;
      for (std::size_t i = 0; i < sample.labels.size(); ++i) {
        metric.label.push_back({std::string(row.labels[i]), sample.labels[i]});
      }
      metric.counter.value = sample.value;
      metric.gauge.value = sample.value;
      if (sample.bounds != nullptr) metric.histogram = cumulative(sample.histogram, *sample.bounds);
      out.metric.push_back(std::move(metric));
    }
    page.push_back(std::move(out));
  }
  return prometheus::TextSerializer().Serialize(page);
}

}  // namespace collwatch::exporters
