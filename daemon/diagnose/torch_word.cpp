// SPDX-License-Identifier: Apache-2.0
//
// A log's words beside the library's own: equal texts, nothing cleverer.
#include "daemon/diagnose/torch_word.h"

#include <algorithm>

#include "daemon/diagnose/diagnosis.h"

namespace collwatch::diagnose {
namespace {

using model::Fingerprint;

/// Shorter words stand in many texts.
constexpr std::size_t kTelling = 12;

bool is_misuse(Fingerprint fingerprint) {
  return fingerprint == Fingerprint::gloo_unsupported_op ||
         fingerprint == Fingerprint::gloo_gpu_tensor_misuse;
}

}  // namespace

std::string same_refusal(const Diagnosis& diagnosis, const std::string& node,
                         const TorchWord& torch) {
  if (!is_misuse(diagnosis.verdict.fingerprint)) return "";
  for (const Refusal& refusal : torch.refusals) {
    if (refusal.text.size() < kTelling || refusal.calls.empty()) continue;
    const bool stands_there =
        std::any_of(diagnosis.findings.begin(), diagnosis.findings.end(), [&](const Finding& f) {
          return is_misuse(f.fingerprint) && f.text.find(refusal.text) != std::string::npos;
        });
    if (!stands_there) continue;
    const std::size_t others = refusal.calls.size() - 1;
    return "libtorch " + torch.version + " on " + node +
           ", tried by its agent without a job, says \"" + refusal.text + "\" to " +
           refusal.calls.front() +
           (others == 0 ? ""
                        : " and " + std::to_string(others) +
                              (others == 1 ? " other call" : " other calls")) +
           ": the call is at fault, not the network";
  }
  return "";
}

}  // namespace collwatch::diagnose
