// SPDX-License-Identifier: Apache-2.0
//
// Requests into steps, steps into reports.
#include "probes/nccl/session.h"

#include <array>
#include <chrono>
#include <cstring>
#include <utility>
#include <variant>

namespace collwatch::nccl_probe {

using model::Collective;
using model::Phase;

namespace {

/// So much later than the polls' own deadline the guard ends a call that does not come back.
constexpr std::chrono::milliseconds kGuardSlack{300};
constexpr int kMostTimeoutMs = 10 * 60 * 1000;
constexpr std::uint32_t kMostBytes = 16U << 20;
constexpr int kMostRanks = 1 << 16;

constexpr std::array<Collective, 5> kCollectives = {Collective::allreduce, Collective::allgather,
                                                    Collective::reduce_scatter,
                                                    Collective::broadcast, Collective::alltoall};

bool is_sensible(int timeout_ms) {
  return timeout_ms > 0 && timeout_ms <= kMostTimeoutMs;
}

wire::Blob blob_of(const NcclUniqueId& id) {
  return {std::begin(id.bytes), std::end(id.bytes)};
}

}  // namespace

Session::Session(const wire::Channel& channel)
    : channel_(channel), guard_([this] { last_word(); }) {}

ExitCode Session::run() {
  while (true) {
    const wire::Received received = channel_.receive();
    if (received.status != wire::ReceiveStatus::packet) return kExitStopped;
    if (const auto end = handle(received.packet)) return *end;
  }
}

std::optional<ExitCode> Session::handle(const std::string& packet) {
  const auto message = wire::decode_to_nccl(packet);
  if (!message) {
    send(wire::NcclError{"unusable request: " + message.error().text});
    return kExitBadRequest;
  }
  return std::visit([this](const auto& request) { return on(request); }, *message);
}

// --- prepare ----------------------------------------------------------------------------------

std::optional<ExitCode> Session::on(const wire::NcclPrepare& request) {
  if (here_ || request.v != wire::kNcclWireVersion || !is_sensible(request.timeout_ms)) {
    send(wire::NcclError{"unusable request: nccl_prepare twice, of another version or range"});
    return kExitBadRequest;
  }
  guard_.arm(Clock::now() + std::chrono::milliseconds(request.timeout_ms));
  enter(Phase::device_init);
  Survey found = survey(request);
  if (const auto* refusal = std::get_if<Refusal>(&found)) {
    send(wire::NcclSkipped{refusal->reason, refusal->text});
    return kExitStopped;
  }
  if (const auto* failure = std::get_if<Failure>(&found)) return fail(*failure);
  return prepared(std::get<Surveyed>(std::move(found)));
}

std::optional<ExitCode> Session::prepared(Surveyed surveyed) {
  wire::NcclPrepared message;
  message.library = surveyed.nccl.path;
  message.note = surveyed.library_note;
  message.nccl = version_text(surveyed.nccl.version);
  message.cuda = surveyed.nccl.cuda;
  message.driver = surveyed.driver;
  for (const DeviceFacts& facts : surveyed.facts) {
    message.devices.push_back(
        {facts.bus, facts.name, facts.free_bytes.value_or(0), troubles_of(facts)});
  }
  enter(Phase::rendezvous);
  for (std::size_t i = 0; i < wire::kNcclIds; ++i) {
    NcclUniqueId id{};
    const NcclResult result = surveyed.nccl.get_unique_id(&id);
    if (result != kNcclSuccess) {
      return fail(nccl_failure(Phase::rendezvous, result, surveyed.nccl.words(result)));
    }
    message.ids.push_back(blob_of(id));
  }
  here_ = std::move(surveyed);
  guard_.disarm();
  send(message);
  return std::nullopt;
}

// --- run --------------------------------------------------------------------------------------

std::string Session::why_unusable(const wire::NcclRun& request) const {
  if (!here_) return "nccl_run before nccl_prepare";
  const int own = request.rung == wire::Rung::rail ? 1 : static_cast<int>(here_->devices.size());
  const bool fits = request.ranks >= 1 && request.ranks <= kMostRanks && request.first_rank >= 0 &&
                    request.first_rank + own <= request.ranks && request.device >= 0 &&
                    request.device < static_cast<int>(here_->devices.size());
  if (!fits || !is_sensible(request.timeout_ms)) return "nccl_run is out of range";
  for (const std::uint32_t bytes : request.sizes) {
    if (bytes > kMostBytes) return "a size is out of range";
  }
  const bool has_id = request.id.size() == sizeof(NcclUniqueId);
  return has_id || request.rung == wire::Rung::local ? "" : "a unique id has 128 bytes";
}

std::optional<ExitCode> Session::on(const wire::NcclRun& request) {
  if (const std::string why = why_unusable(request); !why.empty()) {
    send(wire::NcclError{"unusable request: " + why});
    return kExitBadRequest;
  }
  Communicator::Plan plan;
  plan.devices = here_->devices;
  if (request.rung == wire::Rung::rail) {
    plan.devices = {here_->devices[static_cast<std::size_t>(request.device)]};
  }
  plan.first_rank = request.first_rank;
  plan.ranks = request.ranks;
  plan.deadline = Clock::now() + std::chrono::milliseconds(request.timeout_ms);
  guard_.arm(plan.deadline + kGuardSlack);
  {
    const std::lock_guard lock(mutex_);
    step_ = {};
    step_.round = request.round;
    step_.rung = request.rung;
    step_.ranks = request.ranks;
  }
  if (request.id.empty()) {
    enter(Phase::rendezvous);
    const NcclResult result = here_->nccl.get_unique_id(&plan.id);
    if (result != kNcclSuccess) {
      return fail(nccl_failure(Phase::rendezvous, result, here_->nccl.words(result)));
    }
  } else {
    std::memcpy(plan.id.bytes, request.id.data(), sizeof plan.id.bytes);
  }
  return climb(request, std::move(plan));
}

std::optional<ExitCode> Session::climb(const wire::NcclRun& request, Communicator::Plan plan) {
  Communicator communicator(here_->nccl, here_->cuda, std::move(plan));
  enter(Phase::device_init);
  if (auto done = communicator.open_devices(); !done) return fail(done.error());
  enter(Phase::connect);
  if (auto done = communicator.connect(); !done) return fail(done.error());
  // The first collective connects what only it needs.
  enter(Phase::warmup);
  auto warm = communicator.run(make_shape(Collective::allreduce, request.ranks, 4, request.round));
  if (!warm) return fail(warm.error());
  for (const std::uint32_t size : request.sizes) {
    for (const Collective collective : kCollectives) {
      begin_step(collective, size);
      const auto times =
          communicator.run(make_shape(collective, request.ranks, size, request.round));
      if (!times) return fail(times.error());
      wire::NcclReport report = draft();
      report.duration_us = times->wall.count();
      report.device_us = times->device.count();
      send(report);
    }
  }
  enter(Phase::teardown);
  if (auto done = communicator.close(); !done) return fail(done.error());
  guard_.disarm();
  send(wire::NcclDone{request.rung});
  return std::nullopt;
}

// --- words ------------------------------------------------------------------------------------

void Session::begin_step(Collective collective, std::uint32_t size_bytes) {
  {
    const std::lock_guard lock(mutex_);
    step_.collective = collective;
    step_.size_bytes = size_bytes;
  }
  enter(Phase::collective);
}

void Session::enter(Phase phase) {
  std::string scope;
  {
    const std::lock_guard lock(mutex_);
    step_.phase = phase;
    scope = std::string(model::name(step_.rung));
    if (phase == Phase::collective) {
      scope += " " + std::string(model::name(step_.collective)) + " of " +
               std::to_string(step_.size_bytes) + " bytes";
    }
  }
  send(wire::NcclPhase{scope, phase});
}

wire::NcclReport Session::draft() const {
  const std::lock_guard lock(mutex_);
  return step_;
}

std::optional<ExitCode> Session::fail(const Failure& failure) {
  wire::NcclReport report = draft();
  report.outcome = failure.outcome;
  report.fingerprint = failure.fingerprint;
  report.text = failure.text;
  send(report);
  return kExitFailed;
}

/// From the guard's thread, while the main thread is inside a library.
void Session::last_word() {
  wire::NcclReport report = draft();
  const Failure failure = late(report.phase, "");
  report.outcome = failure.outcome;
  report.fingerprint = failure.fingerprint;
  report.text = failure.text + ": the call did not come back";
  send(report);
}

void Session::send(const wire::FromNccl& message) const {
  (void)channel_.send(wire::encode(message));
}

}  // namespace collwatch::nccl_probe
