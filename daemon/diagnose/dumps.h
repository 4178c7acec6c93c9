// SPDX-License-Identifier: Apache-2.0
//
// The Flight Recorder's dumps among the files of a job: recognised by what is in them, read whole
// and kept apart from the logs until all are there. Used by Engine; one Dumps for each diagnosis.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "daemon/diagnose/facts.h"
#include "daemon/diagnose/job.h"
#include "daemon/flight/analyse.h"
#include "daemon/logs/bytes.h"

namespace collwatch::diagnose {

/// The same bytes from the first one on, and whether they are a dump. Never waits for more than the
/// first byte of what cannot be one.
struct Looked {
  std::unique_ptr<logs::Bytes> bytes;
  bool is_dump = false;
};
Looked look_for_dump(std::unique_ptr<logs::Bytes> bytes, const std::string& name);

class Dumps {
 public:
  /// Reads it to its end; what is wrong with it stands in the facts.
  FileFacts read(const logs::Source& source, std::unique_ptr<logs::Bytes> bytes, int file);

  bool is_empty() const { return dumps_.empty() && notes_.empty(); }
  /// Adds what they say together to the job.
  void join(Job& job);

 private:
  void keep(flight::RankDump dump, int file);

  flight::Words words_;
  std::vector<flight::RankDump> dumps_;
  std::map<int, std::size_t> by_rank_;
  std::map<std::string, int> file_of_;  ///< by name
  std::vector<std::string> notes_;
};

}  // namespace collwatch::diagnose
