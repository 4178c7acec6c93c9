// SPDX-License-Identifier: Apache-2.0
//
// The allow list.
#include "daemon/supervise/environment.h"

#include <cstdlib>
#include <set>

namespace collwatch::supervise {

std::vector<std::string> worker_environment(const std::vector<std::string>& keep) {
  std::set<std::string> names = {"PATH",         "LANG",           "LC_ALL",
                                 "TMPDIR",       "ASAN_OPTIONS",   "UBSAN_OPTIONS",
                                 "TSAN_OPTIONS", "LD_LIBRARY_PATH"};
  names.insert(keep.begin(), keep.end());
  std::vector<std::string> environment;
  for (const std::string& name : names) {
    const char* value = std::getenv(name.c_str());
    if (value != nullptr) environment.push_back(name + "=" + value);
  }
  return environment;
}

}  // namespace collwatch::supervise
