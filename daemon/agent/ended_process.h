// SPDX-License-Identifier: Apache-2.0
//
// Which process the driver speaks of when it says that it stopped one's work on a GPU: Xid 43 and 45
// follow a process that is killed, and so tell of our own probes when we kill them. Any other Xid
// tells of the GPU, whoever was on it. Pure.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <string>

namespace collwatch::agent {

/// 0: that line of the kernel's log is no such word, or names nobody.
inline std::int64_t ended_process(const std::string& text) {
  const std::size_t xid = text.find("NVRM: Xid (");
  if (xid == std::string::npos) return 0;
  const std::size_t number = text.find("): ", xid);
  if (number == std::string::npos) return 0;
  const std::string said = text.substr(number + 3, 3);
  if (said != "43," && said != "45,") return 0;
  std::size_t pid = text.find("pid=", number);
  if (pid == std::string::npos) return 0;
  pid += 4;
  if (pid < text.size() && text[pid] == '\'') ++pid;
  return std::strtoll(text.c_str() + pid, nullptr, 10);
}

}  // namespace collwatch::agent
