// SPDX-License-Identifier: Apache-2.0
//
// The document of docs/schema/inspect.json.
#include <nlohmann/json.hpp>

#include "daemon/cli/inspect_print.h"

namespace collwatch::cli {
namespace {

using Json = nlohmann::ordered_json;
using processes::Connections;
using processes::Finding;
using processes::Identity;
using processes::Job;
using processes::Process;

template <typename T>
Json or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}

Json or_null(const std::string& text) {
  return text.empty() ? Json(nullptr) : Json(text);
}

template <typename T, typename Convert>
Json list(const std::vector<T>& items, Convert convert) {
  Json out = Json::array();
  for (const T& item : items) out.push_back(convert(item));
  return out;
}

Json connections(const Connections& peer) {
  return {{"kind", model::name(peer.kind)},
          {"peer", peer.peer},
          {"interface", or_null(peer.interface)},
          {"count", peer.count},
          {"bytes", or_null(peer.bytes)}};
}

Json library(const processes::Library& item) {
  return {{"name", item.name}, {"path", item.path}, {"version", or_null(item.version)}};
}

Json dump(const processes::DumpFile& file) {
  return {{"path", file.path},
          {"bytes", file.bytes},
          {"age_seconds", file.age_seconds},
          {"before_process", file.before_process},
          {"of_user", file.of_user}};
}

Json flight_recorder(const processes::FlightFiles& flight) {
  Json out = {{"dumps", list(flight.dumps, dump)}, {"pipe", nullptr}, {"pipe_problem", nullptr}};
  if (!flight.pipe_place) return out;
  out["pipe"] = flight.pipe_place->shown;
  out["pipe_problem"] = or_null(flight.pipe_problem);
  return out;
}

Json process_json(const Process& process) {
  const Identity& identity = process.identity;
  Json out = {{"pid", process.pid},
              {"inner_pid", process.inner_pid != 0 ? process.inner_pid : process.pid},
              {"program", process.program},
              {"job", identity.job},
              {"rank", or_null(identity.rank)},
              {"local_rank", or_null(identity.local_rank)},
              {"node_rank", or_null(identity.node)},
              {"world_size", or_null(identity.world_size)},
              {"restart", or_null(identity.restart)},
              {"told_by", or_null(identity.told_by)},
              {"age_seconds", process.age_seconds},
              {"container", process.container}};
  out["backend"] = model::name(process.backend);
  out["backend_why"] = process.backend_why;
  out["torch"] = or_null(process.torch);
  out["cuda"] = or_null(process.cuda);
  out["nccl"] = or_null(process.nccl);
  out["libraries"] = list(process.libraries, library);
  out["gpus"] = process.gpus;
  out["rdma"] = process.rdma;
  out["gloo_socket_ifname"] = or_null(process.gloo_interface);
  out["flight_recorder"] = flight_recorder(process.flight);
  out["connections"] = list(process.connections, connections);
  out["state"] = std::string(1, process.state);
  out["wait_channel"] = or_null(process.wait_channel);
  out["cpu_ratio"] = or_null(process.cpu_ratio);
  out["bytes_to_ranks"] = or_null(process.moved);
  out["progress"] = model::name(process.progress);
  out["progress_why"] = or_null(process.progress_why);
  return out;
}

Json job_json(const Job& job) {
  return {{"job", job.job},
          {"ranks", job.ranks},
          {"missing_ranks", job.missing},
          {"processes", job.processes},
          {"world_size", job.world_size > 0 ? Json(job.world_size) : Json(nullptr)},
          {"backend", model::name(job.backend)},
          {"torch", or_null(job.torch)},
          {"nccl", or_null(job.nccl)},
          {"stalled", job.stalled}};
}

Json finding_json(const Finding& finding) {
  return {{"fingerprint", model::name(finding.id)},
          {"confidence", model::name(finding.confidence)},
          {"job", finding.job},
          {"rank", or_null(finding.rank)},
          {"pid", finding.pid != 0 ? Json(finding.pid) : Json(nullptr)},
          {"text", finding.text},
          {"evidence", finding.evidence},
          {"fix", finding.fix}};
}

}  // namespace

std::string inspect_json(const processes::ProcessReport& report, const std::string& host,
                         const std::string& at) {
  Json out = {{"schema", 1},
              {"host", host},
              {"at", at},
              {"window_seconds", or_null(report.window_seconds)}};
  out["jobs"] = list(report.jobs, job_json);
  out["processes"] = list(report.processes, process_json);
  out["findings"] = list(report.findings, finding_json);
  out["looked_at"] = report.looked_at;
  out["unreadable"] = report.unreadable;
  out["blocked"] = report.blocked;
  out["cut_short"] = report.cut_short;
  return out.dump(1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace collwatch::cli
