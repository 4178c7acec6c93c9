// SPDX-License-Identifier: Apache-2.0
//
// The zoo: a worker that behaves exactly as badly as its script says. Tests start it in place of a
// real probe. The script is the arguments, a statement each (';' separates statements too), run in
// order; when it ends, so does the worker, with code 0.
//
//   well behaved    hello | phase SCOPE PHASE | ack | report PEER OUTCOME | await TYPE | serve
//   reactions       on TYPE[:N] STATEMENT [+ STATEMENT]...   done when serve or await receives that
//                   packet (the Nth of it only); TYPE: start, round, stop, any
//   wrong words     hello_wrong_version | garbage_packet | oversized_packet | empty_packet |
//                   wrong_type | unknown_type | two_reports | clock_lie | flood_packets N
//   wrong timing    hang | sleep MS | slow_ack MS | stop_self | ignore_sigterm | close_channel
//   wrong output    print TEXT | flood_stdout N | flood_stdout forever
//   wrong end       crash | abort | exit N | last_words TEXT
//   wrong company   fork_children N (at most 64) | escape_child | leave_group | traced |
//                   outlive_parent
//   telling         show environment | descriptors | signals | group
//
// It arms its own death signal like a real worker, and so that no failing test leaves anything
// behind, whatever it forks ends by itself after a minute.
#include <dirent.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "probes/wire/channel.h"
#include "probes/wire/message.h"

extern char** environ;

namespace {

using collwatch::model::Outcome;
using collwatch::model::Phase;
namespace wire = collwatch::wire;

constexpr int kMaxChildren = 64;
constexpr unsigned kOrphanSeconds = 60;

[[noreturn]] void usage(const std::string& what) {
  dprintf(2, "fake_worker: cannot do '%s'\n", what.c_str());
  _exit(64);
}

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

void write_all(const std::string& bytes) {
  for (std::size_t done = 0; done < bytes.size();) {
    const ssize_t n = write(1, bytes.data() + done, bytes.size() - done);
    if (n <= 0) return;
    done += static_cast<std::size_t>(n);
  }
}

void sleep_ms(long ms) {
  timespec left{ms / 1000, ms % 1000 * 1'000'000};
  while (nanosleep(&left, &left) != 0) continue;
}

// --- words ----------------------------------------------------------------------------------

void send_raw(const std::string& packet) {
  ::send(wire::kWorkerFd, packet.data(), packet.size(), MSG_NOSIGNAL);
}
void send_message(const wire::FromWorker& message) {
  send_raw(wire::encode(message));
}

void hello(int version) {
  send_message(wire::Hello{version, "fake", "fake-1", static_cast<std::int64_t>(getpid())});
}

void report(const std::string& peer, const std::string& outcome, std::int64_t round) {
  wire::EdgeReport edge;
  edge.peer = peer;
  edge.attempt = 1;
  edge.round = round;
  const auto known = collwatch::model::parse<Outcome>(outcome);
  if (!known) usage("report " + outcome);
  edge.outcome = *known;
  send_message(edge);
}

void flood_stdout(const std::string& amount) {
  const std::string chunk(4096, 'f');
  if (amount == "forever") {
    while (true) write_all(chunk);
  }
  for (long left = std::atol(amount.c_str()); left > 0; left -= 4096) {
    write_all(chunk.substr(0, static_cast<std::size_t>(std::min(left, 4096L))));
  }
}

// --- deeds ----------------------------------------------------------------------------------

[[noreturn]] void hang() {
  while (true) pause();
}

void child_body() {
  alarm(kOrphanSeconds);
  hang();
}

void fork_children(int wanted) {
  for (int i = 0; i < std::min(wanted, kMaxChildren); ++i) {
    const pid_t child = fork();
    if (child == 0) child_body();
    write_all("child " + std::to_string(child) + "\n");
  }
}

/// Leaves the group and keeps the channel and the output open: out of the daemon's reach.
void escape_child() {
  const pid_t child = fork();
  if (child == 0) {
    setsid();
    child_body();
  }
  write_all("child " + std::to_string(child) + "\n");
}

/// Joins the group of a child of its own: its old group is then empty.
void leave_group() {
  const pid_t child = fork();
  if (child == 0) child_body();
  if (setpgid(child, child) != 0 || setpgid(0, child) != 0) usage("leave_group");
  write_all("child " + std::to_string(child) + "\n");
}

/// A debugger outside the group holds this process: killed, it stays a zombie that only the
/// debugger may reap, as close as one gets to a child that is stuck in a driver.
void traced() {
  std::array<int, 2> ready{};
  if (pipe(ready.data()) != 0) usage("traced");
  const pid_t tracer = fork();
  if (tracer == 0) {
    setsid();
    prctl(PR_SET_PDEATHSIG, 0);
    char go = 0;
    if (read(ready[0], &go, 1) != 1) _exit(1);  // until PR_SET_PTRACER names us
    const bool attached = ptrace(PTRACE_SEIZE, getppid(), nullptr, nullptr) == 0;
    write_all(attached ? "tracer " + std::to_string(getpid()) + "\n" : "no ptrace\n");
    hello(wire::kProtocolVersion);
    child_body();
  }
  prctl(PR_SET_PTRACER, tracer, 0, 0, 0);
  if (write(ready[1], "g", 1) != 1) usage("traced");
}

[[noreturn]] void die_of(int signal) {
  std::signal(signal, SIG_DFL);  // a sanitizer may have taken it
  raise(signal);
  _exit(70);
}

void show(const std::string& what) {
  if (what == "environment") {
    for (char** entry = environ; *entry != nullptr; ++entry) write_all(std::string(*entry) + "\n");
  } else if (what == "descriptors") {
    DIR* folder = opendir("/proc/self/fd");
    while (const dirent* entry = readdir(folder)) {
      std::array<char, 256> target{};
      const std::string link = std::string("/proc/self/fd/") + entry->d_name;
      if (entry->d_name[0] == '.' || std::atoi(entry->d_name) == dirfd(folder)) continue;
      if (readlink(link.c_str(), target.data(), target.size() - 1) < 0) continue;
      write_all(std::string("fd ") + entry->d_name + " " + target.data() + "\n");
    }
    closedir(folder);
  } else if (what == "signals") {
    FILE* status = fopen("/proc/self/status", "re");
    std::array<char, 256> line{};
    while (fgets(line.data(), line.size(), status) != nullptr) {
      if (strncmp(line.data(), "Sig", 3) == 0) write_all(line.data());
    }
    fclose(status);
  } else if (what == "group") {
    write_all(getpgrp() == getpid() ? "leads its group\n" : "follows\n");
  } else {
    usage("show " + what);
  }
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

  std::map<std::string, std::function<void(const std::string&)>> verbs_;
  std::vector<Reaction> reactions_;
  std::map<std::string, int> received_;
  std::int64_t round_ = 0;
};

Script::Script() {
  const auto raw = [](std::string packet) {
    return [packet](const std::string&) { send_raw(packet); };
  };
  verbs_ = {
      {"hello", [](const auto&) { hello(wire::kProtocolVersion); }},
      {"hello_wrong_version", [](const auto&) { hello(wire::kProtocolVersion + 98); }},
      {"phase",
       [](const auto& text) {
         const auto [scope, name] = cut(text);
         const auto phase = collwatch::model::parse<Phase>(name);
         if (!phase) usage("phase " + text);
         send_message(wire::PhaseEntered{scope, *phase});
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
