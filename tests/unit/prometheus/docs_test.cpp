// SPDX-License-Identifier: Apache-2.0
//
// docs/metrics.md against the table: the same metrics, types, labels and units, nothing more,
// nothing less. A row reads: | `name` | type | unit | `label`, `label` | what does it tell? |
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "exporters/prometheus/metric_table.h"
#include "tests/support/catch.h"

using namespace collwatch::exporters;

namespace {

struct Row {
  std::string type, unit, labels, tells;
};

std::string trimmed(const std::string& text) {
  const auto first = text.find_first_not_of(" `");
  if (first == std::string::npos) return "";
  return text.substr(first, text.find_last_not_of(" `") - first + 1);
}

std::string without_ticks(const std::string& text) {
  std::string out;
  for (char c : text) {
    if (c != '`' && c != ' ') out += c;
  }
  return out;
}

std::map<std::string, Row> documented() {
  std::map<std::string, Row> rows;
  std::ifstream in(std::string(COLLWATCH_SOURCE_DIR) + "/docs/metrics.md");
  for (std::string line; std::getline(in, line);) {
    if (line.rfind("| `collwatch_", 0) != 0 && line.rfind("| `process_", 0) != 0) continue;
    std::vector<std::string> cells;
    std::istringstream cut(line.substr(1));
    for (std::string cell; std::getline(cut, cell, '|');) cells.push_back(cell);
    REQUIRE(cells.size() == 5);
    rows[trimmed(cells[0])] = {trimmed(cells[1]), trimmed(cells[2]), without_ticks(cells[3]),
                               trimmed(cells[4])};
  }
  return rows;
}

std::string type_name(MetricType type) {
  if (type == MetricType::counter) return "counter";
  return type == MetricType::gauge ? "gauge" : "histogram";
}

std::string label_list(const Metric& metric) {
  std::string out;
  for (std::size_t i = 0; i < metric.label_count(); ++i) {
    if (i != 0) out += ",";
    out += metric.labels[i];
  }
  return out.empty() ? "none" : out;
}

/// The unit that a name promises.
std::string unit_of(std::string name) {
  const auto ends = [&](const std::string& tail) {
    return name.size() >= tail.size() &&
           name.compare(name.size() - tail.size(), tail.size(), tail) == 0;
  };
  if (ends("_total")) name.resize(name.size() - 6);
  if (ends("_seconds")) return "seconds";
  if (ends("_bytes")) return "bytes";
  if (ends("_ratio")) return "ratio";
  return "";
}

}  // namespace

TEST_CASE("docs/metrics.md says what the table says") {
  const auto rows = documented();
  CHECK(rows.size() == kMetrics.size());
  for (const Metric& metric : kMetrics) {
    const std::string name(metric.name);
    INFO(name);
    const auto row = rows.find(name);
    REQUIRE(row != rows.end());
    CHECK(row->second.type == type_name(metric.type));
    CHECK(row->second.labels == label_list(metric));
    CHECK(row->second.tells.size() > 20);
    const std::string unit = unit_of(name);
    if (!unit.empty()) CHECK(row->second.unit == unit);
    if (unit.empty()) CHECK(row->second.unit != "");
  }
}

TEST_CASE("counters end in _total, nothing else does, and each metric is explained") {
  for (const Metric& metric : kMetrics) {
    const std::string_view name = metric.name;
    INFO(std::string(name));
    const bool total = name.size() > 6 && name.substr(name.size() - 6) == "_total";
    CHECK(total == (metric.type == MetricType::counter));
    CHECK(metric.help.size() > 10);
    CHECK(metric.label_sets > 0);
  }
}
