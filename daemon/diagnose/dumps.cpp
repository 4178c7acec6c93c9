// SPDX-License-Identifier: Apache-2.0
//
// From bytes to flight::RankDump, and from the analysis to events with places.
#include "daemon/diagnose/dumps.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>

#include "daemon/flight/dump.h"

namespace collwatch::diagnose {
namespace {

using flight::Finding;

constexpr std::size_t kLooked = 4096;
constexpr std::size_t kMostBytes = std::size_t{64} << 20;
constexpr const char* kPattern = "flight_recorder";

/// Pickles begin with 0x80, JSON with a brace.
bool may_begin_dump(const std::string& head) {
  const std::size_t first = head.find_first_not_of(" \t\r\n");
  return !head.empty() && (head[0] == '\x80' || first == std::string::npos || head[first] == '{');
}

model::Result<std::string> read_all(logs::Bytes& bytes) {
  std::string all;
  std::array<char, 65536> room{};
  for (;;) {
    const auto got = bytes.read(room.data(), room.size());
    if (!got) return model::fail(got.error());
    if (*got == 0) break;
    all.append(room.data(), *got);
    if (all.size() > kMostBytes)
      return model::fail(model::ErrorCode::limit,
                         "a dump of more than " + std::to_string(kMostBytes >> 20) + " MiB");
  }
  if (const std::string damage = bytes.damage(); !damage.empty())
    return model::fail(model::ErrorCode::io, damage);
  return all;
}

/// Newer ones overwrite older ones; of two that lie side by side the one that went further is
/// newer.
std::int64_t progress(const flight::Dump& dump) {
  std::int64_t last = -1;
  for (const flight::Entry& entry : dump.entries) last = std::max(last, entry.record);
  return last;
}

Event event_of(const flight::Sight& sight, const flight::Trouble& trouble, int file) {
  Event event;
  event.place = {file, std::max(1L, sight.number)};
  event.rank = sight.rank;
  event.pattern = kPattern;
  const bool is_odd = trouble.odd.count(sight.rank) != 0;
  const bool is_desync =
      trouble.finding == Finding::mismatch || trouble.finding == Finding::crossed;
  event.fingerprint = is_desync                   ? model::Fingerprint::collective_desync
                      : trouble.backend == "gloo" ? model::Fingerprint::gloo_collective_timeout
                                                  : model::Fingerprint::nccl_watchdog_timeout;
  event.role = is_odd ? catalogue::Role::initiating : catalogue::Role::collateral;
  if (!is_odd && !sight.waits) event.role = catalogue::Role::context;
  event.text = sight.text;
  event.code = sight.code;
  event.is_strong = false;
  event.fields["group"] = trouble.group_name;
  event.fields["op"] = trouble.op;
  event.fields["seq"] = std::to_string(trouble.seq);
  if (sight.enqueued >= 0) event.fields["last_enqueued"] = std::to_string(sight.enqueued);
  if (sight.completed >= 0) event.fields["last_completed"] = std::to_string(sight.completed);
  return event;
}

}  // namespace

Looked look_for_dump(std::unique_ptr<logs::Bytes> bytes, const std::string& name) {
  Looked looked;
  std::string head(kLooked, '\0');
  std::size_t used = 0;
  while (used < head.size()) {
    const auto got = bytes->read(head.data() + used, head.size() - used);
    // Whoever reads on meets the same error.
    if (!got || *got == 0) break;
    used += *got;
    if (!may_begin_dump(head.substr(0, used))) break;
  }
  head.resize(used);
  looked.is_dump = may_begin_dump(head) && flight::looks_like_dump(head, name);
  looked.bytes = logs::with_head(std::move(head), std::move(bytes));
  return looked;
}

FileFacts Dumps::read(const logs::Source& source, std::unique_ptr<logs::Bytes> bytes, int file) {
  FileFacts facts;
  facts.source = source;
  facts.is_dump = true;
  const auto fail = [&](const std::string& why) {
    facts.damage = "as a dump of the Flight Recorder: " + why;
    facts.is_unread = true;
    return facts;
  };
  auto all = read_all(*bytes);
  if (!all) return fail(all.error().text);
  facts.bytes = static_cast<long>(all->size());
  auto dump = flight::read_dump(std::move(*all), words_);
  if (!dump) return fail(dump.error().text);
  facts.lines = static_cast<long>(dump->entries.size());
  const auto rank = dump->rank ? dump->rank : source.hint.rank;
  if (!rank && !flight::rank_of_name(source.name)) {
    notes_.push_back("whose dump " + source.name +
                     " is: its name should end in the rank, as nccl_trace_rank_3");
    return facts;
  }
  flight::RankDump one;
  one.rank = rank ? *rank : *flight::rank_of_name(source.name);
  one.file = source.name;
  one.dump = std::move(*dump);
  facts.owner = one.rank;
  facts.source.hint.rank = one.rank;
  keep(std::move(one), file);
  return facts;
}

void Dumps::keep(flight::RankDump dump, int file) {
  file_of_[dump.file] = file;
  const auto [it, is_new] = by_rank_.try_emplace(dump.rank, dumps_.size());
  if (is_new) {
    dumps_.push_back(std::move(dump));
    return;
  }
  flight::RankDump& kept = dumps_[it->second];
  if (progress(dump.dump) > progress(kept.dump)) std::swap(kept, dump);
  notes_.push_back("which of two dumps of rank " + std::to_string(kept.rank) + " counts: " +
                   kept.file + ", which went further, was taken and not " + dump.file);
}

void Dumps::join(Job& job) {
  if (is_empty()) return;
  FlightEvidence evidence;
  evidence.analysis = flight::analyse(dumps_, job.world, words_);
  evidence.notes = notes_;
  const flight::Trouble& trouble = evidence.analysis.main;
  for (const flight::Sight& sight : trouble.sights) {
    evidence.events.push_back(event_of(sight, trouble, file_of_.at(sight.file)));
  }
  for (const std::set<int>* ranks : {&evidence.analysis.ranks, &evidence.analysis.absent}) {
    for (const int rank : *ranks) {
      RankStory& story = job.ranks[rank];
      story.rank = rank;
      story.has_dump = ranks == &evidence.analysis.ranks;
      story.waits_in_dump = trouble.waiting.count(rank) != 0;
    }
  }
  job.flight = std::move(evidence);
}

}  // namespace collwatch::diagnose
