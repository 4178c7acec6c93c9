// SPDX-License-Identifier: Apache-2.0
//
// What a worker may inherit from the daemon's environment: an allow list, so that no setting of the
// service, of a training job or of an administrator's shell changes what a probe measures unseen.
// Used when spawning, on the loop's thread.
#pragma once

#include <string>
#include <vector>

namespace collwatch::supervise {

/// "NAME=value" for each variable that is set and either always kept (PATH, locale, TMPDIR, the
/// sanitizers' options, LD_LIBRARY_PATH) or named in `keep`; each once.
std::vector<std::string> worker_environment(const std::vector<std::string>& keep);

}  // namespace collwatch::supervise
