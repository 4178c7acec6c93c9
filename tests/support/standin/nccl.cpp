// SPDX-License-Identifier: Apache-2.0
//
// A stand-in for libnccl.so.2, a test double: NCCL's interface between processes of one host, over
// loopback sockets (hub.h) and the stand-in CUDA's memory. It checks the configuration that it is
// given as a library of its version would. Built twice: with all symbols, and with those of 2.10.
//
// Script: version N; fault_from N (only communicators of so many ranks or more have it); fault, one
// of
//   hang_init          init never comes to an end, calls come back
//   hang_init_call     the call of init itself never comes back
//   hang_op NAME       likewise the operation (allreduce, ...); its stream is never through
//   crash_init, crash_op NAME
//   async_error CODE   after the first operation, with `words TEXT` as the last error
//   init_error CODE    with `words TEXT`
//   id_error CODE      of ncclGetUniqueId, with `words TEXT`
//   wrong_sum          one bit of each allreduce's result
//   stuck_destroy
#include <dlfcn.h>
#include <unistd.h>

#include <atomic>
#include <condition_variable>
#include <cstdio>
#include <cstring>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>

#include "tests/support/standin/config_check.h"
#include "tests/support/standin/hub.h"
#include "tests/support/standin/script.h"

namespace {

using standin::Answer;
using standin::Bytes;
using standin::Kind;

constexpr int kSuccess = 0;
constexpr int kInternalError = 3;
constexpr int kInvalidArgument = 4;
constexpr int kInvalidUsage = 5;
constexpr int kRemoteError = 6;
constexpr int kInProgress = 7;
constexpr std::size_t kIdBytes = 128;

// What a reader of the file finds.
[[maybe_unused]] __attribute__((used)) const char kVersionText[] = "NCCL version 2.28.9+cuda12.9";

const standin::Script& script();

bool has_fault(const std::string& fault) {
  const std::string chosen = script().text("fault");
  return chosen == fault || chosen.rfind(fault + " ", 0) == 0;
}
int fault_code() {
  const std::string chosen = script().text("fault");
  return std::atoi(chosen.substr(chosen.find(' ') + 1).c_str());
}
[[noreturn]] void hang() {
  while (true) pause();
}

std::mutex words_mutex;
char words[512] = "";
int fail(int code, const std::string& text) {
  const std::lock_guard lock(words_mutex);
  std::snprintf(words, sizeof words, "%s", text.c_str());
  return code;
}

/// The stand-in CUDA, which is loaded already.
template <typename F>
F* cuda(const char* name) {
  void* library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
  return library == nullptr ? nullptr : reinterpret_cast<F*>(dlsym(library, name));
}

struct Operation {
  Kind kind = Kind::allreduce;
  std::string name;
  Bytes input;
  char* output = nullptr;
  void* stream = nullptr;
};

/// A communicator: one thread that does what is queued, in order.
class Comm {
 public:
  Comm(std::uint16_t port, int rank, int ranks, bool waits)
      : port_(port), rank_(rank), ranks_(ranks), waits_(waits) {
    if (auto* bus = cuda<void(char*, std::size_t)>("standin_current_bus")) bus(bus_, sizeof bus_);
  }
  ~Comm() {
    if (fd_ >= 0) close(fd_);
  }

  int rank() const { return rank_; }
  int ranks() const { return ranks_; }
  bool waits() const { return waits_; }
  bool suffers(const std::string& fault) const {
    return ranks_ >= script().number("fault_from", 1) && has_fault(fault);
  }
  int state() const { return state_; }

  void start() {
    state_ = kInProgress;
    thread_ = std::thread([this] { live(); });
  }
  void push(Operation operation) {
    cuda<void(void*)>("standin_stream_begin")(operation.stream);
    {
      const std::lock_guard lock(mutex_);
      if (state_ == kSuccess && !waits_) state_ = kInProgress;
      queue_.push_back(std::move(operation));
    }
    changed_.notify_all();
  }
  int until_settled() {
    while (state_ == kInProgress) usleep(200);
    return state_;
  }
  void stop() {
    {
      const std::lock_guard lock(mutex_);
      is_over_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }

 private:
  int connect() {
    if (suffers("hang_init")) hang();
    if (suffers("crash_init")) std::abort();
    if (suffers("init_error")) return fail(fault_code(), script().text("words"));
    fd_ = standin::connect_to_hub(port_);
    if (fd_ < 0)
      return fail(2, "socketStartConnect: Connect to 127.0.0.1 failed : Connection refused");
    standin::Hello hello;
    hello.rank = static_cast<std::uint32_t>(rank_);
    hello.ranks = static_cast<std::uint32_t>(ranks_);
    hello.version = static_cast<std::uint32_t>(script().number("version", 22809));
    std::memcpy(hello.bus, bus_, sizeof hello.bus);
    Answer answer;
    if (!standin::write_all(fd_, &hello, sizeof hello) ||
        !standin::read_all(fd_, &answer, sizeof answer)) {
      return fail(kRemoteError, "socketProgress: Connection closed by remote peer");
    }
    return answer.code == 0 ? kSuccess : fail(answer.code, answer.text);
  }

  void live() {
    state_ = connect();
    while (state_ == kSuccess || state_ == kInProgress) {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [this] { return is_over_ || !queue_.empty(); });
      if (queue_.empty()) return;
      Operation operation = std::move(queue_.front());
      queue_.pop_front();
      lock.unlock();
      state_ = kSuccess;  // on the host it is done
      const int result = carry_out(operation);
      if (result != kSuccess) {
        state_ = result;
        return;
      }
      if (suffers("async_error")) state_ = fail(fault_code(), script().text("words"));
      cuda<void(void*)>("standin_stream_end")(operation.stream);
    }
  }

  int carry_out(const Operation& operation) {
    if (suffers("hang_op " + operation.name)) hang();
    if (suffers("crash_op " + operation.name)) std::abort();
    const standin::Request request{operation.kind, operation.input.size()};
    Answer answer;
    std::uint64_t size = 0;
    if (!standin::write_all(fd_, &request, sizeof request) ||
        !standin::write_all(fd_, operation.input.data(), operation.input.size()) ||
        !standin::read_all(fd_, &answer, sizeof answer)) {
      return fail(kRemoteError, "socketProgress: Connection closed by remote peer");
    }
    if (answer.code != 0) return fail(answer.code, answer.text);
    if (!standin::read_all(fd_, &size, sizeof size) ||
        !standin::read_all(fd_, operation.output, size)) {
      return fail(kRemoteError, "socketProgress: Connection closed by remote peer");
    }
    if (suffers("wrong_sum") && operation.kind == Kind::allreduce) operation.output[0] ^= 1;
    return kSuccess;
  }

  const std::uint16_t port_;
  const int rank_;
  const int ranks_;
  const bool waits_;  ///< calls come back when they are done
  char bus_[32] = {};
  int fd_ = -1;
  std::atomic<int> state_{kSuccess};
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Operation> queue_;
  bool is_over_ = false;
  std::thread thread_;
};

// --- groups -----------------------------------------------------------------------------------

struct Exchange {
  Bytes sends;
  char* output = nullptr;
  void* stream = nullptr;
};

thread_local int depth = 0;
thread_local std::vector<Comm*> starting;
thread_local std::vector<std::pair<Comm*, Exchange>> exchanges;

Exchange& exchange_of(Comm* comm) {
  for (auto& [owner, exchange] : exchanges) {
    if (owner == comm) return exchange;
  }
  return exchanges.emplace_back(comm, Exchange{}).second;
}

int begin(Comm* comm) {
  comm->start();
  if (!comm->waits()) return kInProgress;
  if (depth > 0) {
    starting.push_back(comm);
    return kSuccess;
  }
  return comm->until_settled();
}

int queue(void* comm, Kind kind, const char* name, const void* in, std::size_t in_bytes, void* out,
          void* stream) {
  auto* to = static_cast<Comm*>(comm);
  const int state = to->state();
  if (state != kSuccess && state != kInProgress) return state;
  const auto* bytes = static_cast<const char*>(in);
  to->push({kind, name, Bytes(bytes, bytes + in_bytes), static_cast<char*>(out), stream});
  return to->waits() ? kSuccess : kInProgress;
}

struct UniqueId {
  char bytes[kIdBytes];
};

int make_comm(void** comm, int ranks, const UniqueId& id, int rank, bool waits) {
  if (has_fault("hang_init_call")) hang();
  if (rank < 0 || rank >= ranks) return fail(kInvalidArgument, "Invalid rank requested");
  std::uint16_t port = 0;
  std::memcpy(&port, id.bytes + 8, sizeof port);
  auto* made = new Comm(port, rank, ranks, waits);
  *comm = made;
  return begin(made);
}

}  // namespace

extern "C" {

int ncclGetVersion(int* version) {
  if (version == nullptr) return kInvalidArgument;
  *version = static_cast<int>(script().number("version", 22809));
  return kSuccess;
}
int ncclGetUniqueId(UniqueId* id) {
  if (has_fault("id_error")) return fail(fault_code(), script().text("words"));
  const std::uint16_t port = standin::start_hub();
  if (port == 0) return fail(2, "no port for the hub");
  *id = {};
  std::memcpy(id->bytes + 8, &port, sizeof port);
  return kSuccess;
}
int ncclCommInitRank(void** comm, int ranks, UniqueId id, int rank) {
  return make_comm(comm, ranks, id, rank, true);
}
int ncclCommDestroy(void* comm) {
  if (comm == nullptr) return kSuccess;
  if (has_fault("stuck_destroy")) hang();
  auto* own = static_cast<Comm*>(comm);
  own->stop();
  delete own;
  return kSuccess;
}
int ncclCommGetAsyncError(void* comm, int* state) {
  if (comm == nullptr) return fail(kInvalidArgument, "ncclGetAsyncError : comm argument is NULL");
  *state = static_cast<Comm*>(comm)->state();
  return kSuccess;
}
const char* ncclGetErrorString(int code) {
  constexpr const char* kTexts[] = {
      "no error",
      "unhandled cuda error (run with NCCL_DEBUG=INFO for details)",
      "unhandled system error (run with NCCL_DEBUG=INFO for details)",
      "internal error - please report this issue to the NCCL developers",
      "invalid argument (run with NCCL_DEBUG=WARN for details)",
      "invalid usage (run with NCCL_DEBUG=WARN for details)",
      "remote process exited or there was a network error",
      "NCCL operation in progress"};
  return code >= 0 && code <= kInProgress ? kTexts[code] : "unknown result code";
}
int ncclGroupStart() {
  ++depth;
  return kSuccess;
}
int ncclGroupEnd() {
  if (depth == 0) return fail(kInvalidUsage, "ncclGroupEnd: not in a group call.");
  if (--depth > 0) return kSuccess;
  int result = kSuccess;
  for (auto& [comm, exchange] : exchanges) {
    result = queue(comm, Kind::exchange, "alltoall", exchange.sends.data(), exchange.sends.size(),
                   exchange.output, exchange.stream);
  }
  exchanges.clear();
  for (Comm* comm : starting) {
    if (const int started = comm->until_settled(); started != kSuccess) result = started;
  }
  starting.clear();
  return result;
}
int ncclAllReduce(const void* in, void* out, std::size_t count, int, int, void* comm,
                  void* stream) {
  return queue(comm, Kind::allreduce, "allreduce", in, 4 * count, out, stream);
}
int ncclAllGather(const void* in, void* out, std::size_t count, int, void* comm, void* stream) {
  return queue(comm, Kind::allgather, "allgather", in, 4 * count, out, stream);
}
int ncclReduceScatter(const void* in, void* out, std::size_t count, int, int, void* comm,
                      void* stream) {
  const auto ranks = static_cast<std::size_t>(static_cast<Comm*>(comm)->ranks());
  return queue(comm, Kind::reduce_scatter, "reduce_scatter", in, 4 * count * ranks, out, stream);
}
int ncclBroadcast(const void* in, void* out, std::size_t count, int, int, void* comm,
                  void* stream) {
  return queue(comm, Kind::broadcast, "broadcast", in, 4 * count, out, stream);
}
int ncclSend(const void* in, std::size_t count, int, int peer, void* comm, void* stream) {
  if (depth == 0) return fail(kInternalError, "the stand-in sends in groups only");
  Exchange& exchange = exchange_of(static_cast<Comm*>(comm));
  const auto at = static_cast<std::size_t>(peer) * 4 * count;
  if (exchange.sends.size() < at + 4 * count) exchange.sends.resize(at + 4 * count);
  std::memcpy(&exchange.sends[at], in, 4 * count);
  exchange.stream = stream;
  return kSuccess;
}
int ncclRecv(void* out, std::size_t, int, int peer, void* comm, void* stream) {
  if (depth == 0) return fail(kInternalError, "the stand-in receives in groups only");
  Exchange& exchange = exchange_of(static_cast<Comm*>(comm));
  if (peer == 0) exchange.output = static_cast<char*>(out);
  exchange.stream = stream;
  return kSuccess;
}

#ifndef STANDIN_OLD
const char* ncclGetLastError(void*) {
  return words;
}
int ncclCommInitRankConfig(void** comm, int ranks, UniqueId id, int rank, void* config) {
  const auto* bytes = static_cast<const char*>(config);
  const std::string wrong = standin::wrong_in_config(bytes, script().number("version", 22809));
  if (!wrong.empty()) return fail(kInvalidArgument, wrong);
  return make_comm(comm, ranks, id, rank, standin::int_at(bytes, 16) == 1);
}
int ncclCommFinalize(void*) {
  return kSuccess;
}
#endif
}

namespace {
const standin::Script& script() {
  static const standin::Script all(reinterpret_cast<const void*>(&ncclGetVersion));
  return all;
}
}  // namespace
