// SPDX-License-Identifier: Apache-2.0
//
// /proc/self/{stat,limits,fd} and the boot time from /proc/stat, see proc(5).
#include "exporters/prometheus/process_metrics.h"

#include <unistd.h>

#include <cstddef>
#include <filesystem>
#include <fstream>
#include <locale>
#include <sstream>
#include <system_error>

namespace collwatch::exporters {
namespace {

/// The fields of /proc/self/stat after the command, whose name may hold spaces and brackets.
/// Field numbers as in proc(5): the first one here, the state, is 3.
std::optional<ProcessMetrics> parse_stat(const std::string& line, double boot_time) {
  const std::size_t end_of_name = line.rfind(')');
  if (end_of_name == std::string::npos) return std::nullopt;
  std::istringstream fields(line.substr(end_of_name + 1));
  fields.imbue(std::locale::classic());
  std::string state;
  if (!(fields >> state)) return std::nullopt;

  const double ticks = static_cast<double>(sysconf(_SC_CLK_TCK));
  ProcessMetrics out;
  double value = 0;
  for (int field = 4; field <= 24; ++field) {
    if (!(fields >> value)) return std::nullopt;
    if (field == 14 || field == 15) out.cpu_seconds += value / ticks;
    if (field == 20) out.threads = value;
    if (field == 22) out.start_time_seconds = boot_time + value / ticks;
    if (field == 24) out.resident_bytes = value * static_cast<double>(sysconf(_SC_PAGESIZE));
  }
  return out;
}

/// The number after `key` at the start of a line, or 0.
double number_after(const std::string& path, const std::string& key) {
  std::ifstream file(path);
  std::string line;
  while (std::getline(file, line)) {
    if (line.compare(0, key.size(), key) != 0) continue;
    std::istringstream rest(line.substr(key.size()));
    double value = 0;
    return rest >> value ? value : 0;
  }
  return 0;
}

double entries(const std::string& folder) {
  std::error_code error;
  double count = 0;
  for (std::filesystem::directory_iterator it(folder, error), end; !error && it != end;
       it.increment(error)) {
    ++count;
  }
  return count > 0 ? count - 1 : 0;  // less the descriptor that this very walk holds
}

}  // namespace

std::optional<ProcessMetrics> read_process_metrics(const std::string& proc) {
  std::ifstream file(proc + "/self/stat");
  std::string line;
  if (!std::getline(file, line)) return std::nullopt;
  auto out = parse_stat(line, number_after(proc + "/stat", "btime "));
  if (!out) return std::nullopt;
  out->open_fds = entries(proc + "/self/fd");
  out->max_fds = number_after(proc + "/self/limits", "Max open files");
  return out;
}

}  // namespace collwatch::exporters
