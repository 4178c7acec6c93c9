// SPDX-License-Identifier: Apache-2.0
//
// Every operation of ProcessGroupGloo, called as Python's torch.distributed would, and its result
// compared with arithmetic. An operation that this version does not have at all is `unavailable`.
#include "probes/c10d/torch_ops.h"

#include <torch/version.h>

#include <cstdint>
#include <functional>
#include <map>
#include <sstream>
#include <stdexcept>
#include <utility>
#include <vector>

#include "probes/c10d/torch_group.h"

namespace collwatch::c10d_probe {
namespace {

using at::Tensor;
using Work = c10::intrusive_ptr<c10d::Work>;
using wire::C10dEnd;

/// torch's Python name of a dtype, as the name of its ScalarType; found by name, so that a dtype
/// that this version lacks is no compile error.
const std::map<std::string, std::string>& scalar_names() {
  static const std::map<std::string, std::string> names = {{"float32", "Float"},
                                                           {"float64", "Double"},
                                                           {"float16", "Half"},
                                                           {"bfloat16", "BFloat16"},
                                                           {"int8", "Char"},
                                                           {"int16", "Short"},
                                                           {"int32", "Int"},
                                                           {"int64", "Long"},
                                                           {"uint8", "Byte"},
                                                           {"uint16", "UInt16"},
                                                           {"uint32", "UInt32"},
                                                           {"uint64", "UInt64"},
                                                           {"bool", "Bool"},
                                                           {"complex64", "ComplexFloat"},
                                                           {"complex128", "ComplexDouble"},
                                                           {"float8_e4m3fn", "Float8_e4m3fn"},
                                                           {"float8_e5m2", "Float8_e5m2"}};
  return names;
}

std::optional<at::ScalarType> scalar_type(const std::string& dtype) {
  const std::string& name = scalar_names().at(dtype);
  for (int i = 0; i < static_cast<int>(at::ScalarType::NumOptions); ++i) {
    const auto type = static_cast<at::ScalarType>(i);
    if (name == c10::toString(type)) return type;
  }
  return std::nullopt;
}

c10d::ReduceOp reduce_op_named(const std::string& name) {
  static const std::map<std::string, c10d::ReduceOp::RedOpType> ops = {
      {"SUM", c10d::ReduceOp::SUM},         {"AVG", c10d::ReduceOp::AVG},
      {"PRODUCT", c10d::ReduceOp::PRODUCT}, {"MIN", c10d::ReduceOp::MIN},
      {"MAX", c10d::ReduceOp::MAX},         {"BAND", c10d::ReduceOp::BAND},
      {"BOR", c10d::ReduceOp::BOR},         {"BXOR", c10d::ReduceOp::BXOR}};
  if (name == "PREMUL_SUM") return c10d::makeNCCLPreMulSum<double>(kPremulFactor);
  return c10d::ReduceOp(ops.at(name));
}

/// One try: the tensors, the call and the check of one rank.
class Try {
 public:
  Try(const Combination& what, int rank, Group& group, std::chrono::milliseconds timeout)
      : what_(what), rank_(rank), group_(group), timeout_(timeout), type_(scalar_type_or_float()) {}

  Ending run();

 private:
  using Values = std::vector<double>;

  at::ScalarType scalar_type_or_float() const {
    return what_.dtype.empty() ? at::kFloat : scalar_type(what_.dtype).value_or(at::kFloat);
  }

  Tensor tensor(const Values& values) const {
    return at::tensor(at::ArrayRef<double>(values)).to(type_).to(c10::Device(what_.device));
  }
  Tensor mine(int piece = 0) const { return tensor(input(rank_, piece, what_.dtype)); }
  Tensor blank(int elements = kElements) const {
    return tensor(Values(static_cast<std::size_t>(elements), 0));
  }
  std::vector<Tensor> blanks() const { return {blank(), blank()}; }
  /// Both pieces of what this rank has, as one tensor or as two.
  Tensor joined() const {
    Values all = input(rank_, 0, what_.dtype);
    const Values second = input(rank_, 1, what_.dtype);
    all.insert(all.end(), second.begin(), second.end());
    return tensor(all);
  }
  Values of(int rank, int piece = 0) const { return input(rank, piece, what_.dtype); }
  Values result(int piece = 0) const {
    return reduced(what_.reduce_op, piece, what_.dtype).value();
  }

  /// For comparing: through the dtype and back, so that both sides are rounded alike.
  Values values_of(const Tensor& any) const;
  void expect(const Tensor& got, const Values& wanted, int piece);
  void expect_of(const Tensor& got, int rank, int piece = 0) { expect(got, of(rank, piece), -1); }
  void wait(const Work& work) const {
    if (work && !work->wait(timeout_)) throw std::runtime_error("wait() returned false");
  }
  bool is_meta() const { return what_.device == "meta"; }

  void reducing();
  void gathering();
  void scattering();
  void between_two();
  /// Operations that not every version has; false: this one has not.
  bool coalesced();

  const Combination& what_;
  const int rank_;
  Group& group_;
  const std::chrono::milliseconds timeout_;
  const at::ScalarType type_;
  std::string wrong_;
};

Try::Values Try::values_of(const Tensor& any) const {
  Tensor plain = any.to(at::kCPU).contiguous();
  // A bool that holds 2 is true for torch, and undefined for C++.
  if (plain.scalar_type() == at::kBool) plain = plain.view(at::kByte).ne(0).to(at::kByte);
  if (plain.is_complex()) plain = at::real(plain);
  plain = plain.to(at::kDouble).contiguous();
  const double* data = plain.data_ptr<double>();
  return {data, data + plain.numel()};
}

std::string listed(const std::vector<double>& values) {
  std::ostringstream text;
  for (std::size_t i = 0; i < values.size(); ++i) text << (i == 0 ? "[" : ", ") << values[i];
  text << "]";
  return text.str();
}

/// `piece` -1: nothing was reduced.
void Try::expect(const Tensor& got, const Values& wanted, int piece) {
  if (is_meta() || !wrong_.empty()) return;
  const Values seen = values_of(got);
  const Values right = values_of(tensor(wanted));
  if (seen == right) return;
  wrong_ =
      "rank " + std::to_string(rank_) + " got " + listed(seen) + " instead of " + listed(right);
  if (piece < 0) return;
  for (const std::string& other : reduce_ops()) {
    const auto by_other = reduced(other, piece, what_.dtype);
    if (by_other && values_of(tensor(*by_other)) == seen) {
      wrong_ += ": that is " + other;
      return;
    }
  }
}

void Try::reducing() {
  const c10d::ReduceOp reduce = reduce_op_named(what_.reduce_op);
  if (what_.op == "all_reduce") {
    std::vector<Tensor> tensors = {mine()};
    c10d::AllreduceOptions options;
    options.reduceOp = reduce;
    wait(group_.allreduce(tensors, options));
    expect(tensors[0], result(), 0);
  } else if (what_.op == "all_reduce_coalesced") {
    std::vector<Tensor> tensors = {mine(0), mine(1)};
    c10d::AllreduceCoalescedOptions options;
    options.reduceOp = reduce;
    wait(group_.allreduce_coalesced(tensors, options));
    expect(tensors[0], result(0), 0);
    expect(tensors[1], result(1), 1);
  } else if (what_.op == "reduce") {
    std::vector<Tensor> tensors = {mine()};
    c10d::ReduceOptions options;
    options.reduceOp = reduce;
    wait(group_.reduce(tensors, options));
    if (rank_ == 0) expect(tensors[0], result(), 0);
  } else {
    c10d::ReduceScatterOptions options;
    options.reduceOp = reduce;
    if (what_.op == "reduce_scatter") {
      std::vector<Tensor> outputs = {blank()};
      std::vector<std::vector<Tensor>> inputs = {{mine(0), mine(1)}};
      wait(group_.reduce_scatter(outputs, inputs, options));
      expect(outputs[0], result(rank_), rank_);
    } else {
      Tensor output = blank();
      Tensor whole = joined();
      wait(group_._reduce_scatter_base(output, whole, options));
      expect(output, result(rank_), rank_);
    }
  }
}

void Try::gathering() {
  if (what_.op == "all_gather") {
    std::vector<std::vector<Tensor>> outputs = {blanks()};
    std::vector<Tensor> inputs = {mine()};
    wait(group_.allgather(outputs, inputs));
    for (int r = 0; r < kRanks; ++r) expect_of(outputs[0][static_cast<std::size_t>(r)], r);
  } else if (what_.op == "all_gather_coalesced") {
    std::vector<std::vector<Tensor>> outputs = {blanks(), blanks()};
    std::vector<Tensor> inputs = {mine(0), mine(1)};
    wait(group_.allgather_coalesced(outputs, inputs));
    for (int r = 0; r < kRanks; ++r) {
      for (int piece = 0; piece < 2; ++piece) {
        expect_of(outputs[static_cast<std::size_t>(r)][static_cast<std::size_t>(piece)], r, piece);
      }
    }
  } else if (what_.op == "all_gather_into_tensor") {
    Tensor output = blank(kRanks * kElements);
    Tensor own = mine();
    wait(group_._allgather_base(output, own));
    for (int r = 0; r < kRanks; ++r)
      expect_of(output.slice(0, r * kElements, (r + 1) * kElements), r);
  } else {
    std::vector<std::vector<Tensor>> outputs;
    if (rank_ == 0) outputs.push_back(blanks());
    std::vector<Tensor> inputs = {mine()};
    wait(group_.gather(outputs, inputs));
    for (int r = 0; r < kRanks && rank_ == 0; ++r) {
      expect_of(outputs[0][static_cast<std::size_t>(r)], r);
    }
  }
}

void Try::scattering() {
  if (what_.op == "broadcast") {
    std::vector<Tensor> tensors = {mine()};
    wait(group_.broadcast(tensors));
    expect_of(tensors[0], 0);
  } else if (what_.op == "scatter") {
    std::vector<Tensor> outputs = {blank()};
    std::vector<std::vector<Tensor>> inputs;
    if (rank_ == 0) inputs.push_back({mine(0), mine(1)});
    wait(group_.scatter(outputs, inputs));
    expect_of(outputs[0], 0, rank_);
  } else if (what_.op == "all_to_all") {
    std::vector<Tensor> outputs = blanks();
    std::vector<Tensor> inputs = {mine(0), mine(1)};
    wait(group_.alltoall(outputs, inputs));
    for (int r = 0; r < kRanks; ++r) expect_of(outputs[static_cast<std::size_t>(r)], r, rank_);
  } else {
    Tensor output = blank(kRanks * kElements);
    Tensor whole = joined();
    std::vector<std::int64_t> equal;
    wait(group_.alltoall_base(output, whole, equal, equal));
    for (int r = 0; r < kRanks; ++r) {
      expect_of(output.slice(0, r * kElements, (r + 1) * kElements), r, rank_);
    }
  }
}

void Try::between_two() {
  constexpr int kTag = 7;
  std::vector<Tensor> tensors = {rank_ == 0 ? mine() : blank()};
  if (rank_ == 0) {
    wait(group_.send(tensors, 1, kTag));
  } else if (what_.op == "send_recv") {
    wait(group_.recv(tensors, 0, kTag));
  } else {
    wait(group_.recvAnysource(tensors, kTag));
  }
  expect_of(tensors[0], 0);
}

template <typename G>
concept HasAllgatherCoalesced = requires(G& group, std::vector<Tensor>& tensors) {
  group.allgather_into_tensor_coalesced(tensors, tensors);
};
template <typename G>
concept HasReduceScatterCoalesced = requires(G& group, std::vector<Tensor>& tensors,
                                             const c10d::ReduceScatterOptions& options) {
  group.reduce_scatter_tensor_coalesced(tensors, tensors, options);
};

/// The two calls, on a type that is only known here, so that what it lacks is not compiled.
template <typename G>
bool call_coalesced(G& group, bool is_gather, std::vector<Tensor>& outputs,
                    std::vector<Tensor>& inputs, const c10d::ReduceScatterOptions& options,
                    Work& work) {
  if (is_gather) {
    if constexpr (HasAllgatherCoalesced<G>) {
      work = group.allgather_into_tensor_coalesced(outputs, inputs);
      return true;
    }
  } else if constexpr (HasReduceScatterCoalesced<G>) {
    work = group.reduce_scatter_tensor_coalesced(outputs, inputs, options);
    return true;
  }
  return false;
}

bool Try::coalesced() {
  const bool is_gather = what_.op == "all_gather_into_tensor_coalesced";
  std::vector<Tensor> outputs = {blank(is_gather ? kRanks * kElements : kElements)};
  std::vector<Tensor> inputs = {is_gather ? mine() : joined()};
  c10d::ReduceScatterOptions options;
  if (!is_gather) options.reduceOp = reduce_op_named(what_.reduce_op);
  Work work;
  if (!call_coalesced(group_, is_gather, outputs, inputs, options, work)) return false;
  wait(work);
  if (!is_gather) {
    expect(outputs[0], result(rank_), rank_);
    return true;
  }
  for (int r = 0; r < kRanks; ++r) {
    expect_of(outputs[0].slice(0, r * kElements, (r + 1) * kElements), r);
  }
  return true;
}

Ending Try::run() {
  if (what_.op == "barrier") {
    wait(group_.barrier());
  } else if (what_.op == "monitored_barrier") {
    group_.monitoredBarrier();
  } else if (what_.op.find("tensor_coalesced") != std::string::npos) {
    if (!coalesced()) return {C10dEnd::unavailable, "this version has no such operation"};
  } else if (reduces(what_.op)) {
    reducing();
  } else if (what_.op.find("gather") != std::string::npos) {
    gathering();
  } else if (what_.op.find("send") != std::string::npos) {
    between_two();
  } else {
    scattering();
  }
  if (!wrong_.empty()) return {C10dEnd::wrong_values, wrong_};
  return {is_meta() ? C10dEnd::accepted : C10dEnd::ok, ""};
}

}  // namespace

std::string torch_version() {
  return TORCH_VERSION;
}

Ending try_device(const std::string& device) {
  Ending ending = refusal_of([&device] {
    (void)at::tensor({1.0}).to(at::kFloat).to(c10::Device(device));
    return Ending{};
  });
  if (ending.end == C10dEnd::refused) ending.end = C10dEnd::unavailable;
  return ending;
}

Ending try_operation(const Combination& combination, int rank, const std::string& store_path,
                     std::chrono::milliseconds timeout) {
  return refusal_of([&] {
    if (!combination.dtype.empty() && !scalar_type(combination.dtype)) {
      return Ending{C10dEnd::unavailable, "this version has no such dtype"};
    }
    const auto store = c10::make_intrusive<c10d::FileStore>(store_path, kRanks);
    const GroupPointer group = make_group(store, rank, kRanks, timeout);
    return Try(combination, rank, *group, timeout).run();
  });
}

}  // namespace collwatch::c10d_probe
