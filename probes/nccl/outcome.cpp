// SPDX-License-Identifier: Apache-2.0
//
// The texts that tell causes apart, most telling first; they are in every version from 2.10 on.
#include "probes/nccl/outcome.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <string_view>

namespace collwatch::nccl_probe {
namespace {

using model::Fingerprint;
using model::Outcome;

struct Sign {
  std::string_view text;  // lower case
  Outcome outcome;
  Fingerprint fingerprint;
};

constexpr std::array<Sign, 13> kSigns{{
    {"duplicate gpu detected", Outcome::misuse, Fingerprint::nccl_duplicate_gpu},
    {"mismatched nccl version", Outcome::mismatch, Fingerprint::version_mismatch},
    {"nccl version mismatch", Outcome::mismatch, Fingerprint::version_mismatch},
    {"out of memory", Outcome::error, Fingerprint::cuda_oom},
    {"cuda failure", Outcome::error, Fingerprint::cuda_error},
    {"net/ib", Outcome::error, Fingerprint::nccl_ib_error},
    {"ibv_", Outcome::error, Fingerprint::nccl_ib_error},
    {"closed by remote peer", Outcome::peer_lost, Fingerprint::nccl_remote_error},
    {"connection refused", Outcome::refused, Fingerprint::nccl_socket_error},
    {"no route to host", Outcome::unreachable, Fingerprint::nccl_socket_error},
    {"timed out", Outcome::timeout, Fingerprint::nccl_socket_error},
    {"socket", Outcome::error, Fingerprint::nccl_socket_error},
    {"bootstrap", Outcome::init_failed, Fingerprint::nccl_init_failed},
}};

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](char c) {
    return static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  });
  return text;
}

Failure by_code(model::Phase phase, NcclResult result) {
  const bool starting = is_before_collectives(phase);
  switch (result) {
    case kNcclUnhandledCudaError:
      return {starting ? Outcome::init_failed : Outcome::error, Fingerprint::cuda_error, ""};
    case kNcclRemoteError:
      return {Outcome::peer_lost, Fingerprint::nccl_remote_error, ""};
    case kNcclInvalidArgument:
    case kNcclInvalidUsage:
      return {Outcome::misuse, Fingerprint::nccl_invalid_usage, ""};
    case kNcclSystemError:
      return {starting ? Outcome::init_failed : Outcome::error, Fingerprint::nccl_system_error, ""};
    default:
      return {starting ? Outcome::init_failed : Outcome::error,
              starting ? Fingerprint::nccl_init_failed : Fingerprint::nccl_system_error, ""};
  }
}

}  // namespace

bool is_before_collectives(model::Phase phase) {
  return phase == model::Phase::device_init || phase == model::Phase::rendezvous ||
         phase == model::Phase::connect;
}

Failure nccl_failure(model::Phase phase, NcclResult result, const std::string& words) {
  Failure failure = by_code(phase, result);
  failure.text = words;
  const std::string text = lower(words);
  for (const Sign& sign : kSigns) {
    // The code's own text is "remote process exited or there was a network error": no cause.
    if (text.find(sign.text) == std::string::npos) continue;
    failure.fingerprint = sign.fingerprint;
    const bool starting = is_before_collectives(phase);
    failure.outcome =
        sign.outcome == Outcome::error && starting ? Outcome::init_failed : sign.outcome;
    break;
  }
  return failure;
}

Failure cuda_failure(int result, const std::string& words) {
  const bool memory = result == kCudaOutOfMemory;
  return {Outcome::error, memory ? Fingerprint::cuda_oom : Fingerprint::cuda_error, words};
}

Failure late(model::Phase phase, const std::string& words) {
  const bool starting = is_before_collectives(phase);
  Failure failure{Outcome::timeout,
                  starting ? Fingerprint::nccl_init_failed : Fingerprint::nccl_watchdog_timeout,
                  "no end of " + std::string(model::name(phase)) + " in time"};
  if (!words.empty()) failure.text += "; the library's last words: " + words;
  return failure;
}

}  // namespace collwatch::nccl_probe
