// SPDX-License-Identifier: Apache-2.0
//
// configs/fingerprints/*.yaml as they were when this program was built. The .cpp is written by the
// build (embed.cmake) and by nobody else.
#pragma once

#include <string_view>
#include <vector>

namespace collwatch::catalogue {

struct BuiltInFile {
  std::string_view name;  ///< from the root of the sources, for messages
  std::string_view yaml;
};

const std::vector<BuiltInFile>& built_in_files();

}  // namespace collwatch::catalogue
