// SPDX-License-Identifier: Apache-2.0
//
// Gloo's collectives with our values around them. The tag holds everything that the members must
// agree on, the size above all: Gloo matches messages by tag, so members that disagree never meet.
#include "probes/gloo/collectives.h"

#include <gloo/allgather.h>
#include <gloo/allreduce.h>
#include <gloo/alltoall.h>
#include <gloo/barrier.h>
#include <gloo/broadcast.h>

#include <algorithm>
#include <string>
#include <vector>

#include "probes/gloo/payload.h"
#include "probes/gloo/values.h"

namespace collwatch::gloo_probe {
namespace {

using std::chrono::milliseconds;
using Context = std::shared_ptr<GlooContext>;
using Values = std::vector<std::uint32_t>;

struct Call {
  const Context& context;
  std::uint32_t tag = 0;  // also the seed of the values
  milliseconds timeout{0};
  std::size_t elements = 0;
  std::size_t root = 0;

  std::uint32_t rank() const { return static_cast<std::uint32_t>(context->rank); }
  std::uint32_t size() const { return static_cast<std::uint32_t>(context->size); }
};

std::uint32_t tag_of(const wire::CollectiveStep& step, StepKey key) {
  const auto round = static_cast<std::uint64_t>(key.round);
  std::uint32_t tag = scramble(kPayloadVersion);
  for (const std::uint32_t part :
       {static_cast<std::uint32_t>(round), static_cast<std::uint32_t>(round >> 32), key.index,
        static_cast<std::uint32_t>(step.collective), step.size_bytes}) {
    tag = scramble(tag ^ part) + 0x9e3779b9U;
  }
  return tag;
}

template <typename Options>
void set_common(Options& options, const Call& call) {
  options.setTag(call.tag);
  options.setTimeout(call.timeout);
}

std::size_t barrier(const Call& call) {
  ::gloo::BarrierOptions options(call.context);
  set_common(options, call);
  ::gloo::barrier(options);
  return 0;
}

std::size_t allreduce(const Call& call) {
  Values values(call.elements);
  fill_values(values, call.tag, call.rank());
  ::gloo::AllreduceOptions options(call.context);
  set_common(options, call);
  options.setAlgorithm(::gloo::AllreduceOptions::Algorithm::RING);
  options.setOutput(values.data(), values.size());
  options.setReduceFunction([](void* out, const void* left, const void* right, std::size_t n) {
    auto* sum = static_cast<std::uint32_t*>(out);
    const auto* a = static_cast<const std::uint32_t*>(left);
    const auto* b = static_cast<const std::uint32_t*>(right);
    for (std::size_t i = 0; i < n; ++i) sum[i] = a[i] + b[i];
  });
  ::gloo::allreduce(options);
  return wrong_sums(values, call.tag, call.size());
}

std::size_t broadcast(const Call& call) {
  const auto root = static_cast<std::uint32_t>(call.root);
  Values values(call.elements);
  if (call.rank() == root) fill_values(values, call.tag, root);
  ::gloo::BroadcastOptions options(call.context);
  set_common(options, call);
  options.setRoot(static_cast<int>(root));
  options.setOutput(values.data(), values.size());
  ::gloo::broadcast(options);
  return wrong_values(values, call.tag, root);
}

std::size_t allgather(const Call& call) {
  Values mine(call.elements);
  Values all(call.elements * call.size());
  fill_values(mine, call.tag, call.rank());
  ::gloo::AllgatherOptions options(call.context);
  set_common(options, call);
  options.setInput(mine.data(), mine.size());
  options.setOutput(all.data(), all.size());
  ::gloo::allgather(options);
  std::size_t wrong = 0;
  for (std::uint32_t rank = 0; rank < call.size(); ++rank) {
    wrong +=
        wrong_values(std::span(all).subspan(rank * call.elements, call.elements), call.tag, rank);
  }
  return wrong;
}

void exchange(const Call& call, Values& out, Values& in) {
  ::gloo::AlltoallOptions options(call.context);
  set_common(options, call);
  options.setInput(out.data(), out.size());
  options.setOutput(in.data(), in.size());
  ::gloo::alltoall(options);
}

Verified alltoall(const Call& call) {
  const std::size_t chunk = std::max<std::size_t>(1, call.elements / call.size());
  Values out(chunk * call.size());
  Values in(chunk * call.size());
  fill_values(out, call.tag, call.rank());
  exchange(call, out, in);
  Verified result;
  for (std::uint32_t rank = 0; rank < call.size(); ++rank) {
    const std::size_t wrong = wrong_values(std::span(in).subspan(rank * chunk, chunk), call.tag,
                                           rank, call.rank() * chunk);
    result.wrong += wrong;
    if (wrong > 0) result.wrong_from |= 1U << rank;
  }
  return result;
}

}  // namespace

Verified run_collective(const Context& context, const wire::CollectiveStep& step, StepKey key,
                        milliseconds timeout) {
  const auto size = static_cast<std::uint64_t>(context->size);
  const Call call{context, tag_of(step, key), timeout,
                  std::max<std::size_t>(1, step.size_bytes / sizeof(std::uint32_t)),
                  static_cast<std::size_t>(static_cast<std::uint64_t>(key.round) % size)};
  switch (step.collective) {
    case model::Collective::barrier:
      return {barrier(call), 0};
    case model::Collective::allreduce:
      return {allreduce(call), 0};
    case model::Collective::broadcast:
      return {broadcast(call), 0};
    case model::Collective::allgather:
      return {allgather(call), 0};
    case model::Collective::alltoall:
      return alltoall(call);
    case model::Collective::reduce_scatter:
      // The raw library gives it no deadline of its own.
      throw ProbeError(model::Outcome::unsupported, "reduce_scatter is not run on Gloo");
  }
  return {};
}

std::vector<std::uint32_t> exchange_accusations(const Context& context, std::uint32_t wrong_from,
                                                StepKey key, milliseconds timeout) {
  // A word and its seal for each: whoever damages what it sends must not seem to accuse.
  constexpr std::size_t kWords = 2;
  const Call call{context, tag_of({model::Collective::alltoall, 0}, key), timeout, kWords, 0};
  const auto seal = [&call](std::uint32_t word, std::uint32_t from) {
    return scramble(word ^ scramble(call.tag + from));
  };
  Values out(kWords * call.size());
  Values in(kWords * call.size());
  for (std::size_t rank = 0; rank < call.size(); ++rank) {
    out[kWords * rank] = wrong_from;
    out[kWords * rank + 1] = seal(wrong_from, call.rank());
  }
  exchange(call, out, in);
  std::vector<std::uint32_t> words(call.size());
  for (std::uint32_t rank = 0; rank < call.size(); ++rank) {
    const std::uint32_t word = in[kWords * rank];
    if (in[kWords * rank + 1] == seal(word, rank)) words[rank] = word;
  }
  words[call.rank()] = wrong_from;
  return words;
}

void warm_up_barrier(const Context& context, milliseconds timeout) {
  barrier(Call{context, 0, timeout, 0, 0});
}

}  // namespace collwatch::gloo_probe
