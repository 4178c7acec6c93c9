// SPDX-License-Identifier: Apache-2.0
//
// Writes Flight Recorder dumps as PyTorch does: what a rank called, in NCCL's manner (states move
// on) or Gloo's (they never do), as JSON or pickled with the opcodes of c10's own pickler. Used by
// tests of daemon/flight and of the diagnosis.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

namespace collwatch::test {

class Recorder {
 public:
  enum class Manner { nccl, gloo };
  using Shapes = std::vector<std::vector<std::int64_t>>;

  Recorder(int rank, Manner manner) : rank_(rank), manner_(manner) {}

  /// A group that this rank knows; of Gloo's only the last one is written, without its name.
  void group(const std::string& name, const std::string& description,
             const std::vector<int>& members);
  /// One call; `state` is NCCL's. Of Gloo "completed" means retired.
  void call(const std::string& group, const std::string& op, const Shapes& in, const Shapes& out,
            const std::string& state = "completed", const std::string& type = "Float");
  void all_reduce(const std::string& group, const std::string& state = "completed",
                  std::int64_t size = 16, const std::string& type = "Float") {
    call(group, "all_reduce", {{size}}, {{size}}, state, type);
  }
  /// The next entries are not the first ones that the rank ever wrote.
  void forget(std::int64_t records, const std::string& group, std::int64_t calls);

  nlohmann::ordered_json dump() const;
  std::string json() const { return dump().dump(); }
  std::string pickle() const;
  int rank() const { return rank_; }

 private:
  struct Known {
    std::string name, description;
    std::vector<int> members;
    std::int64_t calls = 0;
    std::int64_t completed = -1;
  };
  Known& known(const std::string& name);

  int rank_;
  Manner manner_;
  std::int64_t record_ = 0;
  std::vector<Known> groups_;
  nlohmann::ordered_json entries_ = nlohmann::ordered_json::array();
};

/// The same value as c10's pickler writes it: protocol 2, texts memorised.
std::string pickled(const nlohmann::ordered_json& value);

}  // namespace collwatch::test
