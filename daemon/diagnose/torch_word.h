// SPDX-License-Identifier: Apache-2.0
//
// What an agent measured of its node's libtorch, beside what a job's log says that Gloo refused:
// the same words prove that the call, and not the network or a rank, is at fault. Pure.
#pragma once

#include <string>
#include <vector>

namespace collwatch::diagnose {

struct Diagnosis;

/// A call of Gloo that this libtorch refuses, in its words.
struct Refusal {
  std::string text;
  std::vector<std::string> calls;  ///< "all_reduce float32 avg on cpu"
};

struct TorchWord {
  std::string version;  ///< empty: not known
  std::vector<Refusal> refusals;
};

/// One sentence where the log's misuse of Gloo is one that `torch` knows; else empty.
std::string same_refusal(const Diagnosis& diagnosis, const std::string& node,
                         const TorchWord& torch);

}  // namespace collwatch::diagnose
