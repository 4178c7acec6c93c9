// SPDX-License-Identifier: Apache-2.0
//
// Any bytes as a configuration file, and as a member file's YAML. Property: no crash, and what
// loads prints to something that loads to the same.
#include <cstdint>
#include <cstdlib>
#include <string>

#include "daemon/config/load.h"
#include "daemon/config/print.h"

using namespace collwatch;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string yaml(reinterpret_cast<const char*>(data), size);
  config::Sources sources;
  sources.file = "fuzz.yaml";
  sources.host = config::Host{"n1", {{"lo", {"127.0.0.1", "::1"}}}};
  auto config = config::load_text(yaml, sources);
  if (!config) {
    if (config.error().text.empty()) std::abort();
    // Most inputs fail for want of members or token; with these given, more of them load.
    sources.flags = {{"node", "n1"}, {"membership.static", "n1,n2"}, {"peers.insecure", "true"}};
    config = config::load_text(yaml, sources);
    if (!config) return 0;
  }
  const std::string printed = config::print(*config);
  sources.flags.clear();
  const auto again = config::load_text(printed, sources);
  if (!again || config::print(*again) != printed) std::abort();
  return 0;
}
