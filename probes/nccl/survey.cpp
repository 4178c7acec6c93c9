// SPDX-License-Identifier: Apache-2.0
//
// In the order of cost: a library that is not there costs nothing, a driver a hundredth of a
// second.
#include "probes/nccl/survey.h"

#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <optional>
#include <utility>

#include "probes/nccl/environment.h"
#include "probes/nccl/library_search.h"

namespace collwatch::nccl_probe {

using model::SkipReason;

namespace {

constexpr const char* kMpsPipe = "/tmp/nvidia-mps/control";

std::string read_environ(std::int64_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/environ", std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

void scrub(std::int64_t job_pid) {
  const bool there = job_pid > 0;
  apply(probe_environment(there ? read_environ(job_pid) : "",
                          there && has_our_user("/proc", job_pid)));
}

/// `note` grows by what was wrong with those that stood before it. One that could be opened and is
/// unusable is the end: it may stay in memory, and would be found again by the next one's name.
model::Result<NcclLibrary> load_first(const std::vector<std::string>& names, std::string& note) {
  std::string all;
  for (const std::string& name : names) {
    auto library = NcclLibrary::load(name);
    if (library) {
      if (!all.empty()) note += (note.empty() ? "" : "; ") + all;
      return library;
    }
    all += (all.empty() ? "" : "; ") + library.error().text;
    if (library.error().code != model::ErrorCode::not_found) break;
  }
  return model::fail(model::ErrorCode::not_found, all);
}

std::variant<std::monostate, Refusal, Failure> start_driver(const CudaDriver& cuda) {
  const int result = cuda.init(0);
  switch (result) {
    case kCudaSuccess:
      return {};
    case kCudaNoDevice:
      return Refusal{SkipReason::no_device, cuda.words(result)};
    case kCudaSystemDriverMismatch:
    case kCudaCompatNotSupported:
      return Refusal{SkipReason::driver_too_old, cuda.words(result)};
    case kCudaDeviceUnavailable:
      return Refusal{SkipReason::exclusive, cuda.words(result)};
    default:
      return cuda_failure(result, cuda.words(result));
  }
}

std::optional<std::string> list_devices(const CudaDriver& cuda, const Nvml& nvml, Surveyed& into) {
  int count = 0;
  if (cuda.device_count(&count) != kCudaSuccess) return "the driver does not say how many GPUs";
  for (int i = 0; i < count; ++i) {
    CudaDevice device = 0;
    char bus[32] = {};
    if (cuda.device_get(&device, i) != kCudaSuccess ||
        cuda.device_bus(bus, sizeof bus, device) != kCudaSuccess) {
      return "the driver does not say what GPU " + std::to_string(i) + " is";
    }
    auto facts = nvml.look(bus);
    if (!facts) return facts.error().text;
    into.devices.push_back(device);
    into.facts.push_back(std::move(*facts));
  }
  return std::nullopt;
}

}  // namespace

Survey survey(const wire::NcclPrepare& request) {
  scrub(request.job_pid);
  LibraryWish wish;
  wish.configured = request.library;
  wish.job_library = request.job_library;
  wish.job_pid = request.job_pid;
  LibraryChoice choice = choose_library(wish);
  auto nccl = load_first(choice.names, choice.note);
  if (!nccl) {
    const std::string why = choice.note.empty() ? "" : choice.note + "; ";
    return Refusal{SkipReason::no_library, why + nccl.error().text};
  }
  auto cuda = CudaDriver::load();
  if (!cuda) return Refusal{SkipReason::no_device, "no CUDA driver: " + cuda.error().text};
  auto nvml = Nvml::load();
  if (!nvml) {
    return Refusal{SkipReason::unavailable,
                   "who uses the GPUs cannot be known: " + nvml.error().text};
  }
  Surveyed found{std::move(*nccl), *cuda, choice.note, "", {}, {}};
  int version = 0;
  if (cuda->driver_version(&version) == kCudaSuccess && version > 0) {
    found.driver = cuda_version_text(version);
  }
  if (auto refusal = why_not_this_driver(found.nccl.cuda, found.driver)) return *refusal;
  const auto started = start_driver(*cuda);
  if (const auto* refusal = std::get_if<Refusal>(&started)) return *refusal;
  if (const auto* failure = std::get_if<Failure>(&started)) return *failure;
  if (auto trouble = list_devices(*cuda, *nvml, found)) {
    return Refusal{SkipReason::unavailable, *trouble};
  }
  Circumstances circumstances;
  circumstances.devices = found.facts;
  circumstances.mps_daemon = ::access(kMpsPipe, F_OK) == 0;
  circumstances.beside_jobs = request.beside_jobs;
  if (auto refusal = why_not_probe(circumstances)) return *refusal;
  return found;
}

}  // namespace collwatch::nccl_probe
