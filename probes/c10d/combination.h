// SPDX-License-Identifier: Apache-2.0
//
// What is tried on this node's libtorch: operation x dtype x ReduceOp x device, and what comes out
// of it by arithmetic. Words are those of Python's torch.distributed and torch. Pure; nothing here
// knows libtorch.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace collwatch::c10d_probe {

/// One cell of the table. What an operation does not have (a barrier's dtype) is empty.
struct Combination {
  std::string op;
  std::string dtype;
  std::string reduce_op;
  std::string device;
  bool operator==(const Combination&) const = default;
};

/// "all_reduce float32 SUM on cpu"
std::string describe(const Combination& combination);

const std::vector<std::string>& operations();
const std::vector<std::string>& dtypes();
const std::vector<std::string>& reduce_ops();

bool reduces(std::string_view op);
bool has_tensor(std::string_view op);

/// What is tried on `device`. cpu: every operation with every dtype (those that reduce: SUM), and
/// every ReduceOp with one float and one integer. Elsewhere: every operation, float32, SUM.
std::vector<Combination> combinations(std::string_view device);

inline constexpr int kRanks = 2;
inline constexpr int kElements = 4;

/// What rank `rank` puts into piece `piece` of its tensor; small enough for every dtype, and such
/// that no two ReduceOps have the same result.
std::vector<double> input(int rank, int piece, std::string_view dtype);

/// Both ranks' inputs of that piece reduced; nothing for a word that is no ReduceOp.
std::optional<std::vector<double>> reduced(std::string_view reduce_op, int piece,
                                           std::string_view dtype);

/// The factor of PREMUL_SUM.
inline constexpr double kPremulFactor = 2.0;

}  // namespace collwatch::c10d_probe
