// SPDX-License-Identifier: Apache-2.0
//
// One read is one record. Records by programs (systemd, anybody who writes to /dev/kmsg) are not
// the kernel's word and are passed over.
#include "daemon/watch/kernel_source.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "daemon/watch/finding.h"

namespace collwatch::watch {
namespace {

constexpr base::Millis kIdle{5000};
constexpr int kRecordsPerLook = 2000;
constexpr int kMostRecords = 1000000;         ///< more than any kernel keeps
constexpr std::size_t kLongestRecord = 8192;  ///< longer ones do not exist; read() would refuse

logs::Source kernel_log() {
  logs::Source source;
  source.name = "kernel";
  return source;
}

/// What the kernel can be a witness of. Of the rest of the catalogue's kernel lines most mean
/// nothing without the job's own logs.
bool is_of_kernel(model::Fingerprint id) {
  return id == model::Fingerprint::gpu_hardware_xid || id == model::Fingerprint::host_oom_kill ||
         id == model::Fingerprint::nccl_ib_error;
}

}  // namespace

KernelSource::KernelSource(const diagnose::Patterns& patterns, Options options, Sink sink)
    : options_(std::move(options)),
      sink_(std::move(sink)),
      collector_(patterns, 0, kernel_log()),
      last_(options_.after) {
  open();
}

void KernelSource::open() {
  fd_ = supervise::UniqueFd(
      ::open(options_.path.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  if (!fd_) {
    trouble_ = "cannot read " + options_.path + ": " + std::strerror(errno) +
               " (docs/watch.md says which right is missing)";
    return;
  }
  // Reading begins at the oldest record that is kept; those that were read already are passed over.
  if (options_.after < 0) pass_over();
}

/// All that is there. Not by seeking to the end: the number of the last record is what the next
/// watcher resumes behind, should this one end before there is another.
void KernelSource::pass_over() {
  char record[kLongestRecord];
  for (int i = 0; i < kMostRecords; ++i) {
    const ssize_t size = ::read(fd_.get(), record, sizeof record);
    if (size > 0) {
      const auto parsed = parse_kernel_record({record, static_cast<std::size_t>(size)});
      if (parsed) last_ = std::max(last_, parsed->sequence);
    } else if (size == 0 || (errno != EINTR && errno != EPIPE && errno != EINVAL)) {
      return;
    }
  }
}

base::Clock::duration KernelSource::look(base::TimePoint now) {
  char record[kLongestRecord];
  for (int i = 0; fd_ && i < kRecordsPerLook; ++i) {
    const ssize_t size = ::read(fd_.get(), record, sizeof record);
    if (size > 0) {
      on_record({record, static_cast<std::size_t>(size)}, now);
      continue;
    }
    if (size < 0 && (errno == EINTR || errno == EPIPE || errno == EINVAL)) continue;  // overrun
    if (size < 0 && errno != EAGAIN) {
      trouble_ = "reading " + options_.path + ": " + std::strerror(errno);
      fd_.reset();
    }
    break;
  }
  return kIdle;
}

void KernelSource::on_record(std::string_view bytes, base::TimePoint now) {
  const auto record = parse_kernel_record(bytes);
  if (!record || record->sequence <= last_) return;
  last_ = record->sequence;
  if (record->facility != 0) return;
  const std::string line = as_dmesg(*record) + "\n";
  logs::Block block;
  block.text = line;
  collector_.add(block);
  for (const diagnose::Event& event : collector_.take_events()) {
    if (!is_worth_telling(event) || !is_of_kernel(event.fingerprint) || is_ours(event)) continue;
    wire::Finding finding = finding_of(event);
    finding.source = model::Source::kernel;
    finding.rank = -1;
    finding.host.clear();
    const std::string* const pid = event.field("pid");
    const std::string key = key_of(finding) + (pid == nullptr ? "" : " " + *pid);
    if (!repeats_.is_repeat(key, now)) sink_(finding);
  }
}

/// The agent's own processes: their end is the agent's affair, and told as such. By name, too: the
/// one that was killed is gone, and another agent's is no training process either.
bool KernelSource::is_ours(const diagnose::Event& event) const {
  for (const char* field : {"process", "program"}) {
    const std::string* const name = event.field(field);
    if (name != nullptr && name->rfind("collwatch", 0) == 0) return true;
  }
  const std::string* const pid = event.field("pid");
  return pid != nullptr && options_.own_pids.contains(std::atol(pid->c_str()));
}

std::vector<int> KernelSource::descriptors() const {
  if (!fd_) return {};
  return {fd_.get()};
}

void KernelSource::add_to(wire::Heartbeat& heartbeat) const {
  heartbeat.kernel_sequence = last_;
  heartbeat.repeats += repeats_.count();
  if (!trouble_.empty()) heartbeat.troubles.push_back({model::Source::kernel, trouble_});
}

}  // namespace collwatch::watch
