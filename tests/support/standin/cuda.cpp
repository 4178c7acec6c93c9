// SPDX-License-Identifier: Apache-2.0
//
// A stand-in for libcuda.so.1, a test double: "GPUs" whose memory is this process' own and whose
// streams only count what the stand-in NCCL has under way. Script: devices N, bus_base N (of their
// PCI ids), driver 13000, init_result N, hang_init, allocate_result N.
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstring>

#include "tests/support/standin/script.h"

namespace {

using Clock = std::chrono::steady_clock;

const standin::Script& script();

struct Stream {
  std::atomic<int> pending{0};
};
struct Event {
  Stream* stream = nullptr;
  Clock::time_point seen{};
};

thread_local long current_device = -1;

int devices() {
  return static_cast<int>(script().number("devices", 1));
}
void bus_of(long device, char* out, std::size_t size) {
  std::snprintf(out, size, "0000:%02lx:00.0", script().number("bus_base", 1) + device);
}

}  // namespace

extern "C" {

int cuInit(unsigned) {
  while (script().has("hang_init")) pause();
  return static_cast<int>(script().number("init_result", devices() > 0 ? 0 : 100));
}
int cuDriverGetVersion(int* version) {
  *version = static_cast<int>(script().number("driver", 13000));
  return 0;
}
int cuDeviceGetCount(int* count) {
  *count = devices();
  return 0;
}
int cuDeviceGet(int* device, int index) {
  *device = index;
  return index < devices() ? 0 : 101;
}
int cuDeviceGetPCIBusId(char* out, int size, int device) {
  bus_of(device, out, static_cast<std::size_t>(size));
  return 0;
}
int cuDeviceGetName(char* out, int size, int) {
  std::snprintf(out, static_cast<std::size_t>(size), "stand-in GPU");
  return 0;
}
int cuDevicePrimaryCtxRetain(void** context, int device) {
  *context = reinterpret_cast<void*>(static_cast<long>(device) + 1);
  return 0;
}
int cuCtxSetCurrent(void* context) {
  current_device = reinterpret_cast<long>(context) - 1;
  return 0;
}
int cuCtxGetStreamPriorityRange(int* least, int* greatest) {
  *least = 0;
  *greatest = -5;
  return 0;
}
int cuStreamCreateWithPriority(void** stream, unsigned, int) {
  *stream = new Stream;
  return 0;
}
int cuEventCreate(void** event, unsigned) {
  *event = new Event;
  return 0;
}
int cuEventRecord(void* event, void* stream) {
  auto* e = static_cast<Event*>(event);
  e->stream = static_cast<Stream*>(stream);
  e->seen = e->stream->pending == 0 ? Clock::now() : Clock::time_point{};
  return 0;
}
int cuEventQuery(void* event) {
  auto* e = static_cast<Event*>(event);
  if (e->seen != Clock::time_point{}) return 0;
  if (e->stream->pending > 0) return 600;
  e->seen = Clock::now();
  return 0;
}
int cuEventElapsedTime(float* milliseconds, void* from, void* to) {
  const auto passed = static_cast<Event*>(to)->seen - static_cast<Event*>(from)->seen;
  *milliseconds = std::chrono::duration<float, std::milli>(passed).count();
  return 0;
}
int cuMemAlloc_v2(unsigned long long* pointer, std::size_t bytes) {
  const long result = script().number("allocate_result", 0);
  if (result != 0) return static_cast<int>(result);
  *pointer = reinterpret_cast<unsigned long long>(std::malloc(bytes));
  return 0;
}
int cuMemFree_v2(unsigned long long pointer) {
  std::free(reinterpret_cast<void*>(pointer));
  return 0;
}
int cuMemcpyHtoD_v2(unsigned long long to, const void* from, std::size_t bytes) {
  std::memcpy(reinterpret_cast<void*>(to), from, bytes);
  return 0;
}
int cuMemcpyDtoH_v2(void* to, unsigned long long from, std::size_t bytes) {
  std::memcpy(to, reinterpret_cast<const void*>(from), bytes);
  return 0;
}
int cuGetErrorString(int result, const char** text) {
  *text = result == 2     ? "out of memory"
          : result == 100 ? "no CUDA-capable device is detected"
          : result == 999 ? "unknown error"
                          : "an error of the stand-in";
  return 0;
}

// For the stand-in NCCL alone.
void standin_stream_begin(void* stream) {
  ++static_cast<Stream*>(stream)->pending;
}
void standin_stream_end(void* stream) {
  --static_cast<Stream*>(stream)->pending;
}
void standin_current_bus(char* out, std::size_t size) {
  bus_of(current_device, out, size);
}
}

namespace {
const standin::Script& script() {
  static const standin::Script all(reinterpret_cast<const void*>(&cuInit));
  return all;
}
}  // namespace
