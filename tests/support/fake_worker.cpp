// SPDX-License-Identifier: Apache-2.0
//
// The zoo: a worker that behaves exactly as badly as its script says. Tests start it in place of a
// real probe. The script is the arguments, a statement each (';' separates statements too), run in
// order; when it ends, so does the worker, with code 0.
//
//   well behaved    hello [BUILD] | phase SCOPE PHASE | ack | report PEER OUTCOME |
//                   await TYPE | serve
//                   of the edge last spoken of: enter PHASE | prepared | edge OUTCOME [PHASE];
//                   of all that are prepared: edges OUTCOME
//   reactions       on TYPE[:N] STATEMENT [+ STATEMENT]...   done when serve or await receives that
//                   packet (the Nth of it only); TYPE: start, round, stop, edge_prepare,
//                   edge_connect, edge_close, any
//   wrong words     hello_wrong_version | garbage_packet | oversized_packet | empty_packet |
//                   wrong_type | unknown_type | two_reports | clock_lie | flood_packets N
//   wrong timing    hang | sleep MS | slow_ack MS | stop_self | ignore_sigterm | close_channel
//   wrong output    print TEXT | flood_stdout N | flood_stdout forever
//   wrong end       crash | abort | exit N | last_words TEXT
//   wrong company   fork_children N (at most 64) | fork_bomb | escape_child | leave_group |
//                   traced | outlive_parent
//   telling         show environment | descriptors | signals | group
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "probes/wire/channel.h"
#include "probes/wire/message.h"
#include "tests/support/fake_worker_deeds.h"

namespace {

using collwatch::model::Outcome;
using collwatch::model::Phase;
namespace wire = collwatch::wire;

using namespace fake;

std::string trim(const std::string& text) {
  const auto first = text.find_first_not_of(' ');
  if (first == std::string::npos) return "";
  return text.substr(first, text.find_last_not_of(' ') - first + 1);
}

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  for (std::size_t from = 0; from <= text.size();) {
    const std::size_t to = std::min(text.find(separator, from), text.size());
    if (const std::string part = trim(text.substr(from, to - from)); !part.empty()) {
      parts.push_back(part);
    }
    from = to + 1;
  }
  return parts;
}

/// "verb rest of the line"
std::pair<std::string, std::string> cut(const std::string& statement) {
  const auto space = statement.find(' ');
  if (space == std::string::npos) return {statement, ""};
  return {statement.substr(0, space), trim(statement.substr(space))};
}

// --- words ----------------------------------------------------------------------------------

void send_raw(const std::string& packet) {
  ::send(wire::kWorkerFd, packet.data(), packet.size(), MSG_NOSIGNAL);
}
void send_message(const wire::FromWorker& message) {
  send_raw(wire::encode(message));
}

void hello(int version, const std::string& build) {
  send_message(wire::Hello{version, "fake", build.empty() ? "fake-1" : build,
                           static_cast<std::int64_t>(getpid())});
}

Phase phase_of(const std::string& name) {
  const auto phase = collwatch::model::parse<Phase>(name);
  if (!phase) usage("phase " + name);
  return *phase;
}

Outcome outcome_of(const std::string& name) {
  const auto outcome = collwatch::model::parse<Outcome>(name);
  if (!outcome) usage("outcome " + name);
  return *outcome;
}

void report(const std::string& peer, const std::string& outcome, std::int64_t round) {
  wire::EdgeReport edge;
  edge.peer = peer;
  edge.attempt = 1;
  edge.round = round;
  edge.outcome = outcome_of(outcome);
  send_message(edge);
}

// --- the script -----------------------------------------------------------------------------

struct Reaction {
  std::string type;
  int nth = 0;  ///< 0 = every one
  std::vector<std::string> statements;
};

class Script {
 public:
  Script();
  void run(const std::string& statement);

 private:
  void add_reaction(const std::string& text);
  std::string receive();
  void await(const std::string& type);
  void edge(const std::string& peer, const std::string& outcome, const std::string& phase);

  std::map<std::string, std::function<void(const std::string&)>> verbs_;
  std::vector<Reaction> reactions_;
  std::map<std::string, int> received_;
  std::int64_t round_ = 0;
  std::string peer_;                               ///< of the edge last spoken of
  std::map<std::string, std::uint64_t> attempts_;  ///< by peer
};

Script::Script() {
  const auto raw = [](std::string packet) {
    return [packet](const std::string&) { send_raw(packet); };
  };
  verbs_ = {
      {"hello", [](const auto& build) { hello(wire::kProtocolVersion, build); }},
      {"hello_wrong_version", [](const auto&) { hello(wire::kProtocolVersion + 98, ""); }},
      {"phase",
       [](const auto& text) {
         const auto [scope, name] = cut(text);
         send_message(wire::PhaseEntered{scope, phase_of(name)});
       }},
      {"enter",
       [this](const auto& name) {
         send_message(wire::PhaseEntered{"edge:" + peer_, phase_of(name)});
       }},
      {"prepared",
       [this](const auto&) {
         send_message(wire::EdgePrepared{peer_, attempts_[peer_], wire::Blob(8, 'z')});
       }},
      {"edge",
       [this](const auto& text) {
         const auto [outcome, phase] = cut(text);
         edge(peer_, outcome, phase.empty() ? "collective" : phase);
       }},
      {"edges",
       [this](const auto& outcome) {
         for (const auto& [peer, attempt] : attempts_) edge(peer, outcome, "collective");
       }},
      {"ack",
       [this](const auto&) {
         send_message(wire::RoundAck{round_, 0});
       }},
      {"slow_ack",
       [this](const auto& ms) {
         sleep_ms(std::atol(ms.c_str()));
         send_message(wire::RoundAck{round_, 0});
       }},
      {"clock_lie",
       [this](const auto&) {
         send_message(wire::RoundAck{round_ + 1'000'000, -1});
       }},
      {"report", [this](const auto& text) { report(cut(text).first, cut(text).second, round_); }},
      {"two_reports",
       [this](const auto&) {
         report("n1", "ok", round_);
         report("n1", "timeout", round_);
       }},
      {"last_words", [](const auto& text) { send_message(wire::WorkerError{text}); }},
      {"garbage_packet", raw("\x01\xff{not json")},
      {"oversized_packet", raw(std::string(wire::kMaxPacketBytes + 1, 'x'))},
      {"empty_packet", raw("")},
      {"wrong_type", raw(R"({"type":"round_ack","number":"three","late_us":0})")},
      {"unknown_type", raw(R"({"type":"confession","text":"it was me"})")},
      {"flood_packets",
       [](const auto& count) {
         for (long i = 1; i <= std::atol(count.c_str()); ++i) send_message(wire::RoundAck{i, 0});
       }},
      {"print", [](const auto& text) { write_all(text + "\n"); }},
      {"flood_stdout", flood_stdout},
      {"hang", [](const auto&) { hang(); }},
      {"sleep", [](const auto& ms) { sleep_ms(std::atol(ms.c_str())); }},
      {"stop_self", [](const auto&) { raise(SIGSTOP); }},
      {"ignore_sigterm", [](const auto&) { std::signal(SIGTERM, SIG_IGN); }},
      {"close_channel", [](const auto&) { close(wire::kWorkerFd); }},
      {"crash", [](const auto&) { die_of(SIGSEGV); }},
      {"abort", [](const auto&) { die_of(SIGABRT); }},
      {"exit", [](const auto& code) { _exit(std::atoi(code.c_str())); }},
      {"fork_bomb", [](const auto&) { fork_bomb(); }},
      {"fork_children", [](const auto& count) { fork_children(std::atoi(count.c_str())); }},
      {"escape_child", [](const auto&) { escape_child(); }},
      {"leave_group", [](const auto&) { leave_group(); }},
      {"outlive_parent", [](const auto&) { prctl(PR_SET_PDEATHSIG, 0); }},
      {"traced", [](const auto&) { traced(); }},
      {"show", show},
      {"on", [this](const auto& text) { add_reaction(text); }},
      {"await", [this](const auto& type) { await(type); }},
      {"serve", [this](const auto&) { await("nothing, for ever"); }},
  };
}

/// One report about the edge's present attempt.
void Script::edge(const std::string& peer, const std::string& outcome, const std::string& phase) {
  wire::EdgeReport report;
  report.peer = peer;
  report.attempt = attempts_[peer];
  report.round = phase == "connect" ? 0 : round_;
  report.phase = phase_of(phase);
  report.outcome = outcome_of(outcome);
  report.round_trip_us = 100;
  send_message(report);
}

void Script::run(const std::string& statement) {
  const auto [verb, rest] = cut(statement);
  const auto found = verbs_.find(verb);
  if (found == verbs_.end()) usage(statement);
  found->second(rest);
}

void Script::add_reaction(const std::string& text) {
  const auto [when, what] = cut(text);
  const auto colon = when.find(':');
  Reaction reaction;
  reaction.type = when.substr(0, colon);
  if (colon != std::string::npos) reaction.nth = std::atoi(when.c_str() + colon + 1);
  reaction.statements = split(what, '+');
  reactions_.push_back(reaction);
}

/// Blocks for the next packet of the daemon; its end means that the daemon is gone.
std::string Script::receive() {
  wire::Channel channel(wire::kWorkerFd);
  const wire::Received received = channel.receive();
  channel.release();  // fd 3 outlives this call
  if (received.status != wire::ReceiveStatus::packet) _exit(0);
  const auto message = wire::decode_to_worker(received.packet);
  if (!message) usage("packet " + received.packet);
  if (std::holds_alternative<wire::Start>(*message)) return "start";
  if (std::holds_alternative<wire::Stop>(*message)) return "stop";
  if (const auto* round = std::get_if<wire::Round>(&*message)) {
    round_ = round->number;
    return "round";
  }
  if (const auto* prepare = std::get_if<wire::EdgePrepare>(&*message)) {
    peer_ = prepare->peer;
    attempts_[peer_] = prepare->attempt;
    return "edge_prepare";
  }
  if (const auto* connect = std::get_if<wire::EdgeConnect>(&*message)) {
    peer_ = connect->peer;
    return "edge_connect";
  }
  if (const auto* close = std::get_if<wire::EdgeClose>(&*message)) {
    if (close->peer.empty()) attempts_.clear();
    attempts_.erase(close->peer);
    return "edge_close";
  }
  return "other";
}

void Script::await(const std::string& type) {
  while (true) {
    const std::string got = receive();
    const int count = ++received_[got];
    const auto reactions = reactions_;  // a reaction may add reactions
    for (const Reaction& reaction : reactions) {
      if (reaction.type != got && reaction.type != "any") continue;
      if (reaction.nth != 0 && reaction.nth != count) continue;
      for (const std::string& statement : reaction.statements) run(statement);
    }
    if (got == type || type == "any") return;
  }
}

}  // namespace

void fake::say_hello() {
  hello(wire::kProtocolVersion, "");
}

int main(int argc, char** argv) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  pollfd channel{wire::kWorkerFd, 0, 0};
  if (poll(&channel, 1, 0) > 0 && (channel.revents & POLLHUP) != 0) return 0;  // died before that
  const rlimit no_core{0, 0};
  setrlimit(RLIMIT_CORE, &no_core);
  Script script;
  for (int i = 1; i < argc; ++i) {
    for (const std::string& statement : split(argv[i], ';')) script.run(statement);
  }
  return 0;
}
