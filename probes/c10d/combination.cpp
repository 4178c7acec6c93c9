// SPDX-License-Identifier: Apache-2.0
//
// The lists and the arithmetic.
#include "probes/c10d/combination.h"

#include <algorithm>
#include <cstdint>

namespace collwatch::c10d_probe {
namespace {

/// All ReduceOps are tried with these; AVG of integers and BAND of floats are different cases.
constexpr std::string_view kFloat = "float32";
constexpr std::string_view kInteger = "int32";
constexpr std::string_view kSum = "SUM";

std::optional<double> reduced_value(std::string_view reduce_op, double a, double b) {
  const auto whole_a = static_cast<std::int64_t>(a);
  const auto whole_b = static_cast<std::int64_t>(b);
  if (reduce_op == kSum) return a + b;
  if (reduce_op == "AVG") return (a + b) / 2;
  if (reduce_op == "PRODUCT") return a * b;
  if (reduce_op == "MIN") return std::min(a, b);
  if (reduce_op == "MAX") return std::max(a, b);
  if (reduce_op == "BAND") return static_cast<double>(whole_a & whole_b);
  if (reduce_op == "BOR") return static_cast<double>(whole_a | whole_b);
  if (reduce_op == "BXOR") return static_cast<double>(whole_a ^ whole_b);
  if (reduce_op == "PREMUL_SUM") return kPremulFactor * (a + b);
  return std::nullopt;
}

}  // namespace

std::string describe(const Combination& combination) {
  std::string text = combination.op;
  if (!combination.dtype.empty()) text += " " + combination.dtype;
  if (!combination.reduce_op.empty()) text += " " + combination.reduce_op;
  if (!combination.device.empty()) text += " on " + combination.device;
  return text;
}

const std::vector<std::string>& operations() {
  static const std::vector<std::string> all = {"all_reduce",
                                               "reduce",
                                               "reduce_scatter",
                                               "reduce_scatter_tensor",
                                               "all_reduce_coalesced",
                                               "reduce_scatter_tensor_coalesced",
                                               "broadcast",
                                               "all_gather",
                                               "all_gather_into_tensor",
                                               "all_gather_coalesced",
                                               "all_gather_into_tensor_coalesced",
                                               "gather",
                                               "scatter",
                                               "all_to_all",
                                               "all_to_all_single",
                                               "send_recv",
                                               "send_recv_any",
                                               "barrier",
                                               "monitored_barrier"};
  return all;
}

const std::vector<std::string>& dtypes() {
  static const std::vector<std::string> all = {
      "float32", "float64",   "float16",    "bfloat16",      "int8",       "int16",
      "int32",   "int64",     "uint8",      "uint16",        "uint32",     "uint64",
      "bool",    "complex64", "complex128", "float8_e4m3fn", "float8_e5m2"};
  return all;
}

const std::vector<std::string>& reduce_ops() {
  static const std::vector<std::string> all = {"SUM",  "AVG", "PRODUCT", "MIN",       "MAX",
                                               "BAND", "BOR", "BXOR",    "PREMUL_SUM"};
  return all;
}

bool reduces(std::string_view op) {
  return op.find("reduce") != std::string_view::npos;
}

bool has_tensor(std::string_view op) {
  return op.find("barrier") == std::string_view::npos;
}

std::vector<Combination> combinations(std::string_view device) {
  std::vector<Combination> all;
  const std::string where(device);
  const bool is_cpu = device == "cpu";
  for (const std::string& op : operations()) {
    if (!has_tensor(op)) {
      if (is_cpu) all.push_back({op, "", "", where});
      continue;
    }
    const std::string sum(reduces(op) ? kSum : "");
    for (const std::string& dtype : dtypes()) {
      if (is_cpu || dtype == kFloat) all.push_back({op, dtype, sum, where});
    }
    if (!reduces(op) || !is_cpu) continue;
    for (const std::string_view dtype : {kFloat, kInteger}) {
      for (const std::string& reduce_op : reduce_ops()) {
        if (reduce_op != kSum) all.push_back({op, std::string(dtype), reduce_op, where});
      }
    }
  }
  return all;
}

std::vector<double> input(int rank, int piece, std::string_view dtype) {
  std::vector<double> values;
  for (int i = 0; i < kElements; ++i) {
    if (dtype == "bool") {
      // All four pairs of bits; the second piece is the other way round.
      values.push_back((i >> ((rank + piece) % kRanks)) & 1);
    } else {
      values.push_back(2 + 2 * rank + i + kElements * piece);
    }
  }
  return values;
}

std::optional<std::vector<double>> reduced(std::string_view reduce_op, int piece,
                                           std::string_view dtype) {
  const std::vector<double> a = input(0, piece, dtype);
  const std::vector<double> b = input(1, piece, dtype);
  std::vector<double> values;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const auto value = reduced_value(reduce_op, a[i], b[i]);
    if (!value) return std::nullopt;
    values.push_back(*value);
  }
  return values;
}

}  // namespace collwatch::c10d_probe
