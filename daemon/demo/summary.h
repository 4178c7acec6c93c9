// SPDX-License-Identifier: Apache-2.0
//
// The end of the demo: the sentence for people and the summary object of `demo --json`
// (design 2.1). Pure.
#pragma once

#include <string>

#include "daemon/demo/watch.h"

namespace collwatch::demo {

/// What broke, who said so, how long it took. `healthy` is when time zero was, `watched` how many
/// seconds were watched after it.
std::string sentence(const Watcher& watcher, double healthy, double watched);

/// One line: {"faults": [...], "innocent_pages": 0, "wrong_suspects": 0}
std::string summary_json(const Watcher& watcher);

}  // namespace collwatch::demo
