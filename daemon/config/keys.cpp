// SPDX-License-Identifier: Apache-2.0
//
// The table itself, section by section, and look-ups in it. Defaults are not here: they are
// Config's own, which `show` reads.
#include "daemon/config/keys.h"

#include <algorithm>
#include <cctype>

#include "daemon/config/key_kinds.h"

namespace collwatch::config {
namespace {

using namespace std::chrono_literals;
using C = Config;
using Table = std::vector<Key>;

constexpr SizeRange kPayloadRange{64, 65536};
constexpr SizeRange kCollectiveRange{4, 16ULL << 20};

void add_node(Table& t) {
  t.push_back(text_key(
      "node", [](C& c) -> std::string& { return c.node; }, "name",
      "auto is the host name. Must be unique among the members, so two agents on "
      "one host need names and ports of their own. A change needs a restart."));
  t.back().show = [](const C& c) { return c.node.empty() ? "auto" : yaml_scalar(c.node); };
  t.push_back(endpoint_key(
      "listen", [](C& c) -> Endpoint& { return c.listen; },
      "Where /metrics, /healthz, /readyz and /api/v1 are served. A change "
      "needs a restart."));
  t.push_back(path_key(
      "http.auth_file", [](C& c) -> std::string& { return c.http.auth_file; },
      "Who may read the status port, a line each: user:hash, the hash as mkpasswd or openssl "
      "passwd "
      "-6 make it; a file that everybody may read is refused. All pages but /healthz and "
      "/readyz then ask for a user and a password. Empty: everybody."));
  t.push_back(later_key("http.tls.cert", "path", "\"\"", "Certificate of the status port."));
  t.push_back(later_key("http.tls.key", "path", "\"\"", "Its private key."));
  t.push_back(choice_key(
      "http.diagnose", [](C& c) -> std::string& { return c.http.diagnose; },
      {{"auto", "off"}, {"on"}},
      "Whether POST /api/v1/diagnose is answered; auto: to clients on loopback, and to others "
      "where "
      "http.auth_file tells them apart."));
  t.push_back(text_key(
      "network.interface", [](C& c) -> std::string& { return c.network.interface; }, "name",
      "The interface that probes leave by; auto: the route decides."));
  t.push_back(choice_key(
      "network.family", [](C& c) -> std::string& { return c.network.family; },
      {{"auto", "ipv4", "ipv6"}, {}}, "Which addresses of a peer to use where its name has both."));
  t.push_back(text_key(
      "network.address", [](C& c) -> std::string& { return c.network.address; }, "address",
      "The local address that probes bind to, numeric; auto: the "
      "route decides."));
}

void add_peers(Table& t) {
  t.push_back(endpoint_key(
      "peers.listen", [](C& c) -> Endpoint& { return c.peers.listen; },
      "Where agents meet (TCP and UDP): agents only. A change needs a "
      "restart."));
  t.push_back(path_key(
      "peers.token_file", [](C& c) -> std::string& { return c.peers.token_file; },
      "A file with the secret that all agents share. Needed unless peers.listen "
      "is on loopback or peers.insecure is true."));
  t.push_back(flag_key(
      "peers.insecure", [](C& c) -> bool& { return c.peers.insecure; },
      "true: run without a token; whoever reaches the port can then speak as a "
      "member."));
  t.push_back(
      later_key("peers.tls.cert", "path", "\"\"", "Mutual TLS between agents: certificate."));
  t.push_back(
      later_key("peers.tls.key", "path", "\"\"", "Mutual TLS between agents: private key."));
  t.push_back(
      later_key("peers.tls.ca", "path", "\"\"", "Mutual TLS between agents: whom to trust."));
}

void add_membership(Table& t) {
  t.push_back(members_key("membership.static",
                          "Who belongs, this node included, at most 8 in this version: name, "
                          "name:port, name=address, name=address:port; IPv6 in brackets; port "
                          "9782 unless given."));
  t.push_back(path_key(
      "membership.file", [](C& c) -> std::string& { return c.membership.file; },
      "Instead: a file of members with addresses and labels, watched "
      "(configs/peers.example.yaml)."));
  t.push_back(later_key("membership.dns.name", "name", "\"\"",
                        "Instead: a DNS name with an address per member."));
  t.push_back(later_key("membership.dns.port", "port", "9782", "Their peer port."));
  t.push_back(later_key("membership.slurm", "true or false", "false",
                        "Instead: the nodes of this Slurm job."));
  t.push_back(later_key("membership.torchrun", "true or false", "false",
                        "Instead: the nodes that torchrun's environment counts."));
  t.push_back(later_key("membership.kubernetes.service", "name", "\"\"",
                        "Instead: the pods behind this headless service."));
  t.push_back(duration_key(
      "membership.join_grace", [](C& c) -> Millis& { return c.membership.join_grace; }, {0s, 1h},
      "How long after its start an agent waits before it says never_joined "
      "of a member nobody has seen."));
}

void add_labels(Table& t) {
  t.push_back(label_key(
      "labels.cluster", [](C& c) -> std::string& { return c.labels.cluster; },
      "This cluster's name, in node_info and in alerts."));
  t.push_back(label_key(
      "labels.rack", [](C& c) -> std::string& { return c.labels.rack; }, "This node's rack."));
  t.push_back(label_key(
      "labels.rail", [](C& c) -> std::string& { return c.labels.rail; }, "This node's rail."));
}

void add_edge_and_gloo(Table& t) {
  t.push_back(duration_key(
      "probes.edge.interval", [](C& c) -> Millis& { return c.edge.interval; }, {100ms, 1min},
      "The round: every edge exchanges a token once in it. The same on all "
      "members."));
  t.push_back(duration_key(
      "probes.edge.timeout", [](C& c) -> Millis& { return c.edge.timeout; }, {10ms, 1min},
      "How long an exchange may take; shorter than the "
      "interval."));
  t.push_back(sizes_key(
      "probes.edge.payloads", [](C& c) -> std::vector<std::uint32_t>& { return c.edge.payloads; },
      kPayloadRange, "Bytes: the first, 64, every round; the others in rotation."));
  t.push_back(duration_key(
      "probes.gloo.interval", [](C& c) -> Millis& { return c.gloo.interval; }, {100ms, 1h},
      "How often the group runs its collectives."));
  t.push_back(duration_key(
      "probes.gloo.timeout", [](C& c) -> Millis& { return c.gloo.timeout; }, {10ms, 10min},
      "How long one collective may take; shorter than the "
      "interval."));
  t.push_back(collectives_key(
      "probes.gloo.collectives",
      [](C& c) -> std::vector<model::Collective>& { return c.gloo.collectives; },
      "Which collectives to run; [] runs none."));
  t.push_back(sizes_key(
      "probes.gloo.sizes", [](C& c) -> std::vector<std::uint32_t>& { return c.gloo.sizes; },
      kCollectiveRange, "Bytes per rank, in rotation."));
  t.push_back(later_key("probes.gloo.work", "size", "0B",
                        "Memory to sweep between collectives, as a training step would."));
}

void add_other_probes(Table& t) {
  t.push_back(duration_key(
      "probes.rendezvous.interval", [](C& c) -> Millis& { return c.rendezvous.interval; },
      {1s, 24h}, "How often a full initialisation from nothing is tried."));
  t.push_back(choices_key(
      "probes.rendezvous.stores",
      [](C& c) -> std::vector<std::string>& { return c.rendezvous.stores; },
      {{"agent"}, {"tcp", "file"}}, "Through which stores; [] tries none."));
  t.push_back(path_key(
      "probes.rendezvous.file_path", [](C& c) -> std::string& { return c.rendezvous.file_path; },
      "A folder that all members are to share, as jobs with file:// need one: every node writes a "
      "file .collwatch-NODE there at that interval and looks for the others'. Empty: no such "
      "look."));
  t.push_back(choice_key(
      "probes.c10d.mode", [](C& c) -> std::string& { return c.c10d.mode; },
      {{"never", "start"}, {"change"}},
      "Whether to try this node's libtorch once: stores, operations, dtypes. start: when rounds "
      "have been calm for five minutes, behind everything else."));
}

void add_nccl(Table& t) {
  t.push_back(choice_key(
      "probes.nccl.mode", [](C& c) -> std::string& { return c.nccl.mode; },
      {{"never", "preflight", "idle", "always"}, {}},
      "When to run NCCL collectives on this node's GPUs: preflight once after the start, idle "
      "while no training process is here, always beside jobs too (docs/nccl.md)."));
  t.push_back(text_key(
      "probes.nccl.library", [](C& c) -> std::string& { return c.nccl.library; }, "path",
      "Which libnccl; auto: the training job's own where it may be trusted, else the system's."));
  t.push_back(duration_key(
      "probes.nccl.interval", [](C& c) -> Millis& { return c.nccl.interval; }, {1s, 24h},
      "How often; at least 6 times the timeout. The same on all members."));
  t.push_back(duration_key(
      "probes.nccl.timeout", [](C& c) -> Millis& { return c.nccl.timeout; }, {100ms, 2min},
      "How long one communicator may take, from its making to its end."));
  t.push_back(sizes_key(
      "probes.nccl.sizes", [](C& c) -> std::vector<std::uint32_t>& { return c.nccl.sizes; },
      kCollectiveRange, "Bytes of the larger buffer of a collective; each of them every time."));
}

void add_watch(Table& t) {
  t.push_back(logs_key("watch.logs",
                       "Training logs to read for known failures, e.g. {glob: "
                       "/var/log/train/%h/*.log, max_bytes_per_second: 20MB}; %h is the host "
                       "name, 20MB the default. A glob alone will do."));
  t.push_back(size_key(
      "watch.max_bytes_per_second",
      [](C& c) -> std::uint64_t& { return c.watch.max_bytes_per_second; }, {1000, 10000000000},
      "What is read of all logs together in a second, each file its share; what waits is in "
      "collwatch_log_lag_bytes."));
  t.push_back(path_key(
      "watch.fingerprints", [](C& c) -> std::string& { return c.watch.fingerprints; },
      "A file of your own fingerprints, merged over the built-in ones for all that is watched and "
      "for POST /api/v1/diagnose (docs/schema/fingerprints-file.md)."));
  t.push_back(duration_key(
      "watch.processes.interval", [](C& c) -> Millis& { return c.watch.processes; }, {0s, 1h},
      "How often to look at the training processes here, at least 1s; 0s: never."));
  t.push_back(flag_key(
      "watch.kernel", [](C& c) -> bool& { return c.watch.kernel; },
      "Whether to read the kernel's log (/dev/kmsg) for OOM kills, GPU errors and lost links, "
      "where this process may."));
  t.push_back(choice_key(
      "watch.ras.mode", [](C& c) -> std::string& { return c.watch.ras_mode; },
      {{"never", "safe", "always"}, {}},
      "Whether to ask NCCL's own status service (RAS, 2.24 and newer) about the jobs here, twice a "
      "minute at most, from the node of rank 0. safe: only where it cannot harm the job "
      "(docs/ras.md)."));
  t.push_back(endpoint_key(
      "watch.ras.address", [](C& c) -> Endpoint& { return c.watch.ras_address; },
      "Where it is, a numeric address: what the jobs have in NCCL_RAS_ADDR."));
  t.push_back(later_key("watch.flight_recorder.mode", "never, read or request", "never",
                        "Whether to read flight recorder dumps.", {"read"}));
}

void add_outputs(Table& t) {
  t.push_back(
      later_key("alerting.urls", "list of URLs", "[]", "Alertmanagers to push to directly."));
  t.push_back(later_key("alerting.labels", "section of labels", "{}", "Added to every push."));
  t.push_back(later_key("alerting.auth_file", "path", "\"\"", "Credentials for it."));
  t.push_back(path_key(
      "events.path", [](C& c) -> std::string& { return c.events.path; },
      "File for events, one JSON object a line; empty: none."));
  t.push_back(size_key(
      "events.max_bytes", [](C& c) -> std::uint64_t& { return c.events.max_bytes; },
      {4096, 16ULL << 30}, "When to rotate it."));
  t.push_back(later_key("textfile.path", "path", "\"\"",
                        "Metrics as a file, for node_exporter's collector."));
  t.push_back(size_key(
      "limits.memory", [](C& c) -> std::uint64_t& { return c.limits.memory; },
      {16ULL << 20, 16ULL << 30},
      "What each process of the agent may hold in memory. Above it the daemon forgets old events "
      "and "
      "refuses posted logs (collwatch_memory_short), and a worker is replaced; the Gloo worker may "
      "hold its group's buffers besides."));
  t.push_back(count_key(
      "limits.suspects", [](C& c) -> int& { return c.limits.suspects; }, 1, 64,
      "How many suspects to publish at once, worst first."));
}

Table make_table() {
  Table t;
  add_node(t);
  add_peers(t);
  add_membership(t);
  add_labels(t);
  add_edge_and_gloo(t);
  add_other_probes(t);
  add_nccl(t);
  add_watch(t);
  add_outputs(t);
  return t;
}

}  // namespace

const std::vector<Key>& keys() {
  static const Table table = make_table();
  return table;
}

const Key* find_key(const std::string& name) {
  const auto& table = keys();
  const auto found =
      std::find_if(table.begin(), table.end(), [&](const Key& key) { return key.name == name; });
  return found == table.end() ? nullptr : &*found;
}

bool is_section(const std::string& name) {
  const std::string prefix = name + ".";
  const auto& table = keys();
  return std::any_of(table.begin(), table.end(),
                     [&](const Key& key) { return key.name.starts_with(prefix); });
}

std::vector<std::string> key_names() {
  std::vector<std::string> names;
  for (const Key& key : keys()) names.push_back(key.name);
  return names;
}

std::vector<std::string> key_and_section_names() {
  std::vector<std::string> names = key_names();
  for (const Key& key : keys()) {
    for (std::size_t dot = key.name.find('.'); dot != std::string::npos;
         dot = key.name.find('.', dot + 1)) {
      const std::string section = key.name.substr(0, dot);
      if (std::find(names.begin(), names.end(), section) == names.end()) names.push_back(section);
    }
  }
  return names;
}

std::string environment_name(const std::string& key) {
  std::string name = "COLLWATCH_";
  for (const char c : key) {
    if (c == '.') {
      name += "__";
    } else {
      name += static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    }
  }
  return name;
}

std::string yaml_scalar(const std::string& text) {
  const bool plain = !text.empty() && text.front() != '-' && text.front() != ':' &&
                     text.back() != ':' && text != "null" && text != "Null" && text != "NULL" &&
                     std::all_of(text.begin(), text.end(), [](char c) {
                       return std::isalnum(static_cast<unsigned char>(c)) != 0 ||
                              std::string(":./_+-=").find(c) != std::string::npos;
                     });
  if (plain) return text;
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return quoted + "\"";
}

}  // namespace collwatch::config
