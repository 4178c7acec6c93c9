// SPDX-License-Identifier: Apache-2.0
//
// Every call of NCCL on several GPUs is one group: calls on different communicators of one thread
// would otherwise wait for each other.
#include "probes/nccl/communicator.h"

#include <algorithm>
#include <thread>
#include <utility>

namespace collwatch::nccl_probe {

using model::Phase;

namespace {

constexpr std::chrono::microseconds kFirstPause{20};
constexpr std::chrono::microseconds kLongestPause{2000};

/// Pauses that grow: a collective of microseconds is measured as such, an init of seconds polled
/// gently.
class Pause {
 public:
  void take() {
    std::this_thread::sleep_for(next_);
    next_ = std::min(2 * next_, kLongestPause);
  }

 private:
  std::chrono::microseconds next_ = kFirstPause;
};

tl::unexpected<Failure> failed(Failure failure) {
  return tl::unexpected<Failure>(std::move(failure));
}

const void* address(CudaPointer pointer) {
  return reinterpret_cast<const void*>(static_cast<std::uintptr_t>(pointer));
}
void* writable(CudaPointer pointer) {
  return reinterpret_cast<void*>(static_cast<std::uintptr_t>(pointer));
}

}  // namespace

Communicator::Communicator(const NcclLibrary& nccl, const CudaDriver& cuda, Plan plan)
    : nccl_(nccl), cuda_(cuda), plan_(std::move(plan)), config_(make_config(nccl.version)) {
  int rank = plan_.first_rank;
  for (const CudaDevice device : plan_.devices) {
    Lane lane;
    lane.device = device;
    lane.rank = rank++;
    lanes_.push_back(lane);
  }
}

Attempt<void> Communicator::cuda_ok(int result) const {
  if (result == kCudaSuccess) return {};
  return failed(cuda_failure(result, cuda_.words(result)));
}

Attempt<void> Communicator::nccl_ok(NcclResult result, Phase phase) const {
  if (result == kNcclSuccess || result == kNcclInProgress) return {};
  return failed(nccl_failure(phase, result, nccl_.words(result)));
}

Failure Communicator::too_late(Phase phase) const {
  const char* last = nccl_.get_last_error != nullptr ? nccl_.get_last_error(nullptr) : nullptr;
  return late(phase, last != nullptr ? last : "");
}

Attempt<void> Communicator::for_each_lane(const std::function<Attempt<void>(Lane&)>& step) {
  for (Lane& lane : lanes_) {
    if (auto set = cuda_ok(cuda_.context_set(lane.context)); !set) return set;
    if (auto done = step(lane); !done) return done;
  }
  return {};
}

Attempt<void> Communicator::open_devices() {
  for (Lane& lane : lanes_) {
    if (auto ok = cuda_ok(cuda_.context_retain(&lane.context, lane.device)); !ok) return ok;
  }
  return for_each_lane([this](Lane& lane) -> Attempt<void> {
    int least = 0;
    int greatest = 0;
    if (auto ok = cuda_ok(cuda_.priority_range(&least, &greatest)); !ok) return ok;
    if (auto ok = cuda_ok(cuda_.stream_create(&lane.stream, kCudaStreamNonBlocking, least)); !ok) {
      return ok;
    }
    if (auto ok = cuda_ok(cuda_.event_create(&lane.before, kCudaEventDefault)); !ok) return ok;
    return cuda_ok(cuda_.event_create(&lane.after, kCudaEventDefault));
  });
}

Attempt<void> Communicator::connect() {
  if (auto ok = nccl_ok(nccl_.group_start(), Phase::connect); !ok) return ok;
  auto started = for_each_lane([this](Lane& lane) {
    const NcclResult result =
        nccl_.never_blocks()
            ? nccl_.comm_init_rank_config(&lane.comm, plan_.ranks, plan_.id, lane.rank, &config_)
            : nccl_.comm_init_rank(&lane.comm, plan_.ranks, plan_.id, lane.rank);
    return nccl_ok(result, Phase::connect);
  });
  if (!started) return started;
  if (auto ok = nccl_ok(nccl_.group_end(), Phase::connect); !ok) return ok;
  return until_settled(Phase::connect);
}

/// Until no communicator has anything to do on the host any more.
Attempt<void> Communicator::until_settled(Phase phase) {
  Pause pause;
  while (true) {
    bool busy = false;
    for (const Lane& lane : lanes_) {
      NcclResult state = kNcclSuccess;
      if (auto ok = nccl_ok(nccl_.comm_get_async_error(lane.comm, &state), phase); !ok) return ok;
      if (auto ok = nccl_ok(state, phase); !ok) return ok;
      busy = busy || state == kNcclInProgress;
    }
    if (!busy) return {};
    if (Clock::now() >= plan_.deadline) return failed(too_late(phase));
    pause.take();
  }
}

/// Until every GPU is through with it. The library's own errors come first: a GPU that waits for a
/// peer that is gone never finishes.
Attempt<void> Communicator::until_finished(Phase phase) {
  Pause pause;
  while (true) {
    bool busy = false;
    for (const Lane& lane : lanes_) {
      NcclResult state = kNcclSuccess;
      if (auto ok = nccl_ok(nccl_.comm_get_async_error(lane.comm, &state), phase); !ok) return ok;
      if (auto ok = nccl_ok(state, phase); !ok) return ok;
      const int result = cuda_.event_query(lane.after);
      busy = busy || result == kCudaNotReady;
      if (result == kCudaNotReady) continue;
      if (auto ok = cuda_ok(result); !ok) return ok;
    }
    if (!busy) return {};
    if (Clock::now() >= plan_.deadline) return failed(too_late(phase));
    pause.take();
  }
}

Attempt<void> Communicator::fill(Lane& lane, const Shape& shape) {
  const Words input = input_of(shape, lane.rank);
  const Words nothing(words_out(shape), 0xDEADBEEFU);
  const std::size_t in_bytes = input.size() * sizeof(std::uint32_t);
  const std::size_t out_bytes = nothing.size() * sizeof(std::uint32_t);
  if (auto ok = cuda_ok(cuda_.allocate(&lane.in, in_bytes)); !ok) return ok;
  if (auto ok = cuda_ok(cuda_.allocate(&lane.out, out_bytes)); !ok) return ok;
  if (auto ok = cuda_ok(cuda_.to_device(lane.in, input.data(), in_bytes)); !ok) return ok;
  // What was there before must not pass for a result.
  return cuda_ok(cuda_.to_device(lane.out, nothing.data(), out_bytes));
}

Attempt<void> Communicator::enqueue(const Lane& lane, const Shape& shape) {
  const void* in = address(lane.in);
  void* out = writable(lane.out);
  const auto ok = [this](NcclResult result) { return nccl_ok(result, Phase::collective); };
  switch (shape.collective) {
    case model::Collective::allreduce:
      return ok(
          nccl_.all_reduce(in, out, shape.words, kNcclUint32, kNcclSum, lane.comm, lane.stream));
    case model::Collective::allgather:
      return ok(nccl_.all_gather(in, out, words_in(shape), kNcclUint32, lane.comm, lane.stream));
    case model::Collective::reduce_scatter:
      return ok(nccl_.reduce_scatter(in, out, words_out(shape), kNcclUint32, kNcclSum, lane.comm,
                                     lane.stream));
    case model::Collective::broadcast:
      return ok(nccl_.broadcast(in, out, shape.words, kNcclUint32, 0, lane.comm, lane.stream));
    case model::Collective::alltoall:
    case model::Collective::barrier:
      break;
  }
  const std::size_t part = shape.words / static_cast<std::size_t>(shape.ranks);
  for (int peer = 0; peer < shape.ranks; ++peer) {
    const auto at =
        static_cast<CudaPointer>(static_cast<std::size_t>(peer) * part * sizeof(std::uint32_t));
    const NcclResult sent =
        nccl_.send(address(lane.in + at), part, kNcclUint32, peer, lane.comm, lane.stream);
    if (auto good = ok(sent); !good) return good;
    const NcclResult received =
        nccl_.recv(writable(lane.out + at), part, kNcclUint32, peer, lane.comm, lane.stream);
    if (auto good = ok(received); !good) return good;
  }
  return {};
}

Attempt<void> Communicator::verify(Lane& lane, const Shape& shape) {
  Words output(words_out(shape));
  const std::size_t bytes = output.size() * sizeof(std::uint32_t);
  if (auto ok = cuda_ok(cuda_.to_host(output.data(), lane.out, bytes)); !ok) return ok;
  (void)cuda_.release(std::exchange(lane.in, 0));
  (void)cuda_.release(std::exchange(lane.out, 0));
  const std::size_t wrong = wrong_words(shape, lane.rank, output);
  if (wrong == 0) return {};
  return failed({model::Outcome::data_corruption, model::Fingerprint::data_corruption,
                 "rank " + std::to_string(lane.rank) + ": " + std::to_string(wrong) + " of " +
                     std::to_string(output.size()) + " words are wrong"});
}

Attempt<Times> Communicator::run(const Shape& shape) {
  const auto lift = [](Attempt<void> attempt) { return failed(std::move(attempt.error())); };
  if (auto ok = for_each_lane([&](Lane& lane) { return fill(lane, shape); }); !ok) return lift(ok);
  const auto began = Clock::now();
  auto marked = for_each_lane(
      [this](Lane& lane) { return cuda_ok(cuda_.event_record(lane.before, lane.stream)); });
  if (!marked) return lift(marked);
  if (auto ok = nccl_ok(nccl_.group_start(), Phase::collective); !ok) return lift(ok);
  auto queued = for_each_lane([&](Lane& lane) { return enqueue(lane, shape); });
  if (!queued) return lift(queued);
  if (auto ok = nccl_ok(nccl_.group_end(), Phase::collective); !ok) return lift(ok);
  if (auto ok = until_settled(Phase::collective); !ok) return lift(ok);
  marked = for_each_lane(
      [this](Lane& lane) { return cuda_ok(cuda_.event_record(lane.after, lane.stream)); });
  if (!marked) return lift(marked);
  if (auto ok = until_finished(Phase::collective); !ok) return lift(ok);
  Times times;
  times.wall = std::chrono::duration_cast<Microseconds>(Clock::now() - began);
  auto verified = for_each_lane([&](Lane& lane) {
    float milliseconds = 0;
    if (cuda_.event_elapsed(&milliseconds, lane.before, lane.after) == kCudaSuccess) {
      times.device = std::max(times.device, Microseconds(static_cast<long>(milliseconds * 1000)));
    }
    return verify(lane, shape);
  });
  if (!verified) return lift(verified);
  return times;
}

Attempt<void> Communicator::close() {
  if (nccl_.comm_finalize != nullptr && nccl_.never_blocks()) {
    auto finalized = for_each_lane(
        [this](Lane& lane) { return nccl_ok(nccl_.comm_finalize(lane.comm), Phase::teardown); });
    if (!finalized) return finalized;
    if (auto ok = until_settled(Phase::teardown); !ok) return ok;
  }
  return for_each_lane([this](Lane& lane) {
    return nccl_ok(nccl_.comm_destroy(std::exchange(lane.comm, nullptr)), Phase::teardown);
  });
}

}  // namespace collwatch::nccl_probe
