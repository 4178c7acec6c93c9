// SPDX-License-Identifier: Apache-2.0
//
// PyTorch writes the file in pieces and under its final name: it is whole when it has not changed
// for a second and ends as a pickle or a JSON document does.
#include "daemon/processes/dump_request.h"

#include <chrono>
#include <cstddef>

#include "daemon/processes/proc_files.h"

namespace collwatch::processes {
namespace {

constexpr std::chrono::seconds kStill{1};

bool ends_whole(const FileInRoot& file) {
  const auto last = file.last_byte();
  return last && (*last == '.' || *last == '}' || *last == '\n');
}

}  // namespace

DumpRequest::DumpRequest(const std::vector<Process>& processes) {
  for (const Process& process : processes) {
    DumpAnswer answer;
    answer.pid = process.pid;
    answer.job = process.identity.job;
    answer.rank = process.identity.rank;
    answer.problem = process.flight.pipe_place ? process.flight.pipe_problem
                                               : "no pipe is configured in its environment";
    Waiting waiting;
    waiting.flight = process.flight;
    for (const Place& place : process.flight.dump_places) {
      Seen seen;
      if (const auto file = FileInRoot::open(place.root, place.path)) {
        seen.identity = file->identity();
        seen.bytes = file->size();
      }
      waiting.before.push_back(seen);
    }
    waiting.latest = waiting.before;
    answers_.push_back(std::move(answer));
    waiting_.push_back(std::move(waiting));
  }
}

void DumpRequest::ask() {
  for (std::size_t i = 0; i < answers_.size(); ++i) {
    DumpAnswer& answer = answers_[i];
    const FlightFiles& flight = waiting_[i].flight;
    if (answer.is_asked || !answer.problem.empty() || !flight.pipe_place || !flight.user) continue;
    answer.problem =
        put_byte_in_pipe(flight.pipe_place->root, flight.pipe_place->path, *flight.user);
    answer.is_asked = answer.problem.empty();
    if (answer.is_asked) answer.problem = "it was asked and wrote no new file";
  }
}

bool DumpRequest::look(TimePoint now) {
  bool is_done = true;
  for (std::size_t i = 0; i < answers_.size(); ++i) {
    if (!answers_[i].is_asked) continue;
    if (!answers_[i].dump) look_at(answers_[i], waiting_[i], now);
    is_done = is_done && answers_[i].dump;
  }
  return is_done;
}

void DumpRequest::look_at(DumpAnswer& answer, Waiting& waiting, TimePoint now) {
  for (std::size_t i = 0; i < waiting.before.size(); ++i) {
    const Place& place = waiting.flight.dump_places[i];
    const auto file = FileInRoot::open(place.root, place.path);
    if (!file) continue;
    const Seen& before = waiting.before[i];
    Seen seen{file->identity(), file->size(), now};
    if (seen.identity == before.identity && seen.bytes == before.bytes) continue;
    if (file->owner() != waiting.flight.user) {
      answer.problem = place.shown + " is new and belongs to another user: left alone";
      continue;
    }
    Seen& latest = waiting.latest[i];
    if (seen.identity != latest.identity || seen.bytes != latest.bytes) latest = seen;
    answer.problem = place.shown + " is new and not written to its end";
    if (now - latest.since < kStill || !ends_whole(*file)) continue;
    answer.dump = place;
    answer.bytes = seen.bytes;
    answer.problem.clear();
    return;
  }
}

}  // namespace collwatch::processes
