// SPDX-License-Identifier: Apache-2.0
//
// Folders, a socketpair, a process.
#include "tests/integration/nccl/probe.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <fstream>

#include "tests/support/catch.h"

namespace collwatch::tests {
namespace {

const std::string kBuild = std::string(COLLWATCH_BINARY_DIR) + "/..";

void write(const std::string& path, const std::string& text) {
  std::ofstream(path) << text;
}

}  // namespace

FakeNode::FakeNode(const std::string& standins) {
  char folder[] = "/tmp/collwatch-nccl-XXXXXX";
  REQUIRE(::mkdtemp(folder) != nullptr);
  folder_ = folder;
  namespace fs = std::filesystem;
  const auto link = [&](const std::string& from, const char* name) {
    fs::create_symlink(fs::canonical(kBuild + "/" + from + "/" + name), folder_ + "/" + name);
  };
  link(standins, "libnccl.so.2");
  link("standin", "libcuda.so.1");
  link("standin", "libnvidia-ml.so.1");
}

FakeNode::~FakeNode() {
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

void FakeNode::nccl_script(const std::string& lines) const {
  write(folder_ + "/libnccl.so.2.script", lines);
}
void FakeNode::cuda_script(const std::string& lines) const {
  write(folder_ + "/libcuda.so.1.script", lines);
}
void FakeNode::nvml_script(const std::string& lines) const {
  write(folder_ + "/libnvidia-ml.so.1.script", lines);
}
void FakeNode::remove(const std::string& name) const {
  std::filesystem::remove(folder_ + "/" + name);
}

Probe::Probe(const FakeNode& node) {
  auto pair = wire::Channel::make_pair();
  REQUIRE(pair);
  channel_ = std::move(pair->first);
  const int null = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
  supervise::ProcessOptions options;
  options.executable = std::string(COLLWATCH_BINARY_DIR) + "/collwatch-probe-nccl";
  options.environment = {"PATH=/usr/bin:/bin", "LD_LIBRARY_PATH=" + node.folder()};
  options.channel_fd = pair->second.fd();
  options.output_fd = null;
  auto spawned = supervise::Process::spawn(options);
  ::close(null);
  REQUIRE(spawned);
  process_ = std::move(*spawned);
}

Probe::~Probe() {
  if (process_->reaped()) return;
  process_->signal_group(SIGKILL);
  (void)process_->reap_within(5s);
}

void Probe::send(const wire::ToNccl& message) const {
  REQUIRE(channel_->send(wire::encode(message)));
}

std::optional<wire::FromNccl> Probe::next(std::chrono::milliseconds within) {
  const auto until = std::chrono::steady_clock::now() + within;
  while (true) {
    const wire::Received received = channel_->receive();
    if (received.status == wire::ReceiveStatus::packet) {
      auto message = wire::decode_from_nccl(received.packet);
      REQUIRE(message);
      return std::move(*message);
    }
    if (received.status == wire::ReceiveStatus::closed && received.sys_errno == 0) return {};
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(until - std::chrono::steady_clock::now());
    if (left.count() <= 0) return std::nullopt;
    pollfd entry{channel_->fd(), POLLIN, 0};
    ::poll(&entry, 1, static_cast<int>(left.count()));
  }
}

std::vector<wire::NcclReport> Probe::reports() {
  std::vector<wire::NcclReport> all;
  while (auto message = next()) {
    if (const auto* report = std::get_if<wire::NcclReport>(&*message)) all.push_back(*report);
    const bool done = std::holds_alternative<wire::NcclDone>(*message);
    passed.push_back(std::move(*message));
    if (done || (!all.empty() && all.back().outcome != model::Outcome::ok)) break;
  }
  return all;
}

std::string Probe::last_phase() const {
  std::string last;
  for (const auto& message : passed) {
    if (const auto* phase = std::get_if<wire::NcclPhase>(&message)) {
      last = std::string(model::name(phase->phase)) + " of " + phase->scope;
    }
  }
  return last;
}

std::optional<supervise::ExitFact> Probe::end(std::chrono::milliseconds within) {
  return process_->reap_within(within);
}

wire::NcclPrepare prepare_with(const FakeNode& node) {
  wire::NcclPrepare request;
  request.node = "n0";
  request.library = node.nccl();
  request.timeout_ms = 5000;
  return request;
}

wire::NcclRun local_run(int ranks) {
  wire::NcclRun request;
  request.round = 7;
  request.ranks = ranks;
  request.timeout_ms = 30000;
  request.sizes = {4, 1048576};
  return request;
}

}  // namespace collwatch::tests
