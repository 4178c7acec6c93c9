// SPDX-License-Identifier: Apache-2.0
//
// At most four names a rank; each is opened and looked at, no folder is searched.
#include "daemon/processes/flight_files.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "daemon/processes/proc_files.h"

namespace collwatch::processes {
namespace {

/// Process starts are known to a clock tick, and files to one of the kernel's.
constexpr double kSlackSeconds = 1;

std::string value_of(const Environment& environment, std::string_view name) {
  const auto found = environment.find(name);
  return found != environment.end() ? found->second : "";
}

Place place_of(const std::string& folder, const std::string& name, bool is_our_root) {
  Place place;
  const bool is_absolute = name.front() == '/';
  place.root = folder + (is_absolute ? "/root" : "/cwd");
  place.path = name;
  place.shown = is_our_root && is_absolute ? name : place.root + (is_absolute ? "" : "/") + name;
  return place;
}

std::optional<DumpFile> look_at(const Place& place, const Process& process) {
  const auto file = FileInRoot::open(place.root, place.path);
  if (!file) return std::nullopt;
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  DumpFile dump;
  dump.path = place.shown;
  dump.bytes = file->size();
  dump.age_seconds = std::max(0.0, std::chrono::duration<double>(now - file->modified()).count());
  dump.before_process = dump.age_seconds > process.age_seconds + kSlackSeconds;
  dump.of_user = process.flight.user == file->owner();
  return dump;
}

}  // namespace

std::vector<std::string> dump_names(const Environment& environment, int rank) {
  const std::string number = std::to_string(rank);
  for (const char* const name : {"TORCH_FR_DUMP_TEMP_FILE", "TORCH_NCCL_DEBUG_INFO_TEMP_FILE"}) {
    const std::string stem = value_of(environment, name);
    if (!stem.empty()) return {stem + number};
  }
  std::vector<std::string> names;
  const std::string cache = value_of(environment, "XDG_CACHE_HOME");
  const std::string home = value_of(environment, "HOME");
  if (!cache.empty()) names.push_back(cache + "/torch/comm_lib_trace_rank_" + number);
  if (!home.empty()) names.push_back(home + "/.cache/torch/comm_lib_trace_rank_" + number);
  names.push_back("/tmp/nccl_trace_rank_" + number);
  return names;
}

std::optional<std::string> pipe_name(const Environment& environment, int rank) {
  const std::string stem = value_of(environment, "TORCH_NCCL_DEBUG_INFO_PIPE_FILE");
  if (stem.empty()) return std::nullopt;
  return stem + std::to_string(rank) + ".pipe";
}

void find_flight_files(Process& process, const Environment& environment, const std::string& folder,
                       bool same_files) {
  if (!process.identity.rank) return;
  FlightFiles& flight = process.flight;
  const int rank = *process.identity.rank;
  const bool is_our_root = same_files && link_target(folder + "/root") == "/";
  for (const std::string& name : dump_names(environment, rank)) {
    flight.dump_places.push_back(place_of(folder, name, is_our_root));
    if (auto dump = look_at(flight.dump_places.back(), process)) flight.dumps.push_back(*dump);
  }
  const auto pipe = pipe_name(environment, rank);
  if (!pipe) return;
  flight.pipe_place = place_of(folder, *pipe, is_our_root);
  flight.pipe_problem =
      flight.user ? why_no_pipe(flight.pipe_place->root, flight.pipe_place->path, *flight.user)
                  : "the user of the process is not known";
}

}  // namespace collwatch::processes
