// SPDX-License-Identifier: Apache-2.0
//
// The one place that reads Gloo's error texts. Gloo types its errors by text only, and the texts
// carry a source path and line that move with every version, so rules look at the tails. Pure;
// pinned by tests/unit/gloo/outcome_test.cpp with the real texts of the 2022, 2023 and 2025 builds.
#pragma once

#include <string_view>

#include "probes/gloo/failure.h"
#include "probes/model/vocabulary.h"

namespace collwatch::gloo_probe {

/// What an exception's text means when it was caught in `phase`. The text is kept as it is. A text
/// that nobody knows is init_failed before the context is connected and error afterwards.
Failure classify(std::string_view text, model::Phase phase);

}  // namespace collwatch::gloo_probe
