// SPDX-License-Identifier: Apache-2.0
//
// Which of the engine's events are told, and as what. The engine concludes from whole logs; a
// watcher sees a line and no more, so it tells only lines that the catalogue knows as a failure.
// Pure.
#pragma once

#include <string>

#include "daemon/diagnose/facts.h"
#include "probes/wire/watch_message.h"

namespace collwatch::watch {

/// Not benign, not a warning, not a shape that the catalogue has no text for (an exception that the
/// program may have caught and printed).
bool is_worth_telling(const diagnose::Event& event);

/// Source, file and line are the caller's to add.
wire::Finding finding_of(const diagnose::Event& event);

/// Findings with the same key within seconds are one.
std::string key_of(const wire::Finding& finding);

/// "slurm:4711" for /home/me/slurm-4711.out, "slurm:4711_3" for slurm-4711_3.out; else empty.
std::string job_of_path(const std::string& path);

}  // namespace collwatch::watch
