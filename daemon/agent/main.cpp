// SPDX-License-Identifier: Apache-2.0
//
// collwatchd: reads the configuration, wires agent, HTTP server, signals and systemd, runs the
// loop. Exit codes: 0 stopped, 1 failed at run time, 2 bad configuration or usage.
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "daemon/agent/agent.h"
#include "daemon/base/event_loop.h"
#include "daemon/config/load.h"
#include "daemon/config/options.h"
#include "daemon/posted_logs/runner.h"
#include "exporters/http/server.h"
#include "exporters/systemd/notify.h"

namespace {

using namespace collwatch;

/// Our other programs lie beside this one.
std::string beside_us(const std::string& program) {
  char path[4096];
  const ssize_t n = readlink("/proc/self/exe", path, sizeof path - 1);
  if (n <= 0) return program;
  std::string self(path, static_cast<std::size_t>(n));
  return self.substr(0, self.rfind('/') + 1) + program;
}

int fail(int code, const std::string& text) {
  std::cerr << "collwatchd: " << text << (text.ends_with('\n') ? "" : "\n");
  return code;
}

/// SIGTERM, SIGINT and SIGHUP as a file descriptor of the loop; SIGPIPE never kills.
model::Result<int> take_signals() {
  signal(SIGPIPE, SIG_IGN);
  sigset_t set;
  sigemptyset(&set);
  for (const int number : {SIGTERM, SIGINT, SIGHUP}) sigaddset(&set, number);
  sigprocmask(SIG_BLOCK, &set, nullptr);
  const int fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
  if (fd < 0) return model::fail(model::from_errno("signalfd", errno));
  return fd;
}

/// The agent, feeding the watchdog and saying READY after its first round. Failing to reach systemd
/// must not disturb the rounds; it restarts us if it stops hearing.
model::Result<std::unique_ptr<agent::Agent>> make_agent(base::EventLoop& loop,
                                                        const config::Config& config,
                                                        const systemd::Notifier& notifier) {
  agent::Agent::Options options;
  options.worker_executable = beside_us("collwatch-probe-gloo");
  options.watch_executable = beside_us("collwatch-watch");
  options.c10d_executable = beside_us("collwatch-probe-c10d");
  options.store_executable = beside_us("collwatch-probe-store");
  options.nccl_executable = beside_us("collwatch-probe-nccl");
  options.turned = [&notifier, announced = false](bool ready) mutable {
    (void)notifier.watchdog();
    if (ready && !announced) (void)notifier.ready("probing");
    announced = announced || ready;
  };
  return agent::Agent::create(loop, config, options);
}

std::vector<exporters::HttpUser> users_of(const config::Config& config) {
  std::vector<exporters::HttpUser> users;
  for (const auto& user : config.http.users) users.push_back({user.name, user.password_hash});
  return users;
}

/// Reads both only; they must outlive it.
model::Result<std::unique_ptr<exporters::HttpServer>> make_http(const config::Config& config,
                                                                agent::Agent& agent,
                                                                posted_logs::Runner& diagnoses) {
  exporters::HttpServer::Callbacks callbacks;
  callbacks.snapshot = [&agent] { return agent.snapshot(); };
  callbacks.seconds_since_turn = [&agent] { return agent.seconds_since_turn(); };
  callbacks.diagnose.run = [&diagnoses](int log, posted_logs::Runner::Answer answer) {
    diagnoses.run(log, std::move(answer));
  };
  callbacks.diagnose.not_now = [&agent]() -> std::string {
    if (!agent.is_short_of_memory()) return "";
    return "the agent is short of memory (limits.memory): run collwatch diagnose on the log";
  };
  callbacks.users = users_of(config);
  if (config.http.diagnose == "off") callbacks.diagnose.refusal = "http.diagnose is off";
  return exporters::HttpServer::create(config.listen.host, config.listen.port,
                                       std::move(callbacks));
}

/// Everything between a good configuration and the end of the process.
int run(config::Config config, const config::Sources& sources) {
  const auto signals = take_signals();
  if (!signals) return fail(1, signals.error().text);
  auto loop = base::EventLoop::create();
  if (!loop) return fail(1, loop.error().text);
  auto notifier = systemd::Notifier::create(systemd::read_notify_environment());
  if (!notifier) return fail(1, notifier.error().text);

  auto made = make_agent(**loop, config, *notifier);
  if (!made) return fail(1, made.error().text);
  const std::unique_ptr<agent::Agent> agent = std::move(*made);

  posted_logs::Runner::Options reader;
  reader.executable = beside_us("collwatch");
  posted_logs::Runner diagnoses(reader);
  diagnoses.use_fingerprints(config.watch.fingerprints);
  auto http = make_http(config, *agent, diagnoses);
  if (!http) return fail(1, http.error().text);

  const auto reload = [&] {
    (void)notifier->reloading();
    config::Sources again = sources;
    again.running = true;
    auto fresh = config::load(again);
    if (fresh) {
      diagnoses.use_fingerprints(fresh->watch.fingerprints);
      (*http)->set_users(users_of(*fresh));
      agent->reload(std::move(*fresh));
    } else {
      agent->reload_failed(fresh.error().text);
    }
    (void)notifier->ready("probing");
  };
  const auto on_signal = [&](std::uint32_t) {
    signalfd_siginfo info{};
    while (read(*signals, &info, sizeof info) == sizeof info) {
      if (info.ssi_signo == SIGHUP) {
        reload();
        continue;
      }
      (void)notifier->stopping("saying goodbye to the peers");
      agent->leave("stopped by signal " + std::to_string(info.ssi_signo), [&] { (*loop)->stop(); });
    }
  };
  if (auto watched = (*loop)->watch(*signals, EPOLLIN, on_signal); !watched) {
    return fail(1, watched.error().text);
  }
  spdlog::info("collwatchd {} node {}: status on {}:{}, peers on {}:{}, {} members",
               COLLWATCH_VERSION, config.node, config.listen.host, config.listen.port,
               config.peers.listen.host, config.peers.listen.port,
               config.membership.members.size());
  const auto ran = (*loop)->run();
  http->reset();
  return ran ? 0 : fail(1, ran.error().text);
}

}  // namespace

int main(int argc, char** argv) {
  const auto options = config::parse_daemon_options({argv + 1, argv + argc});
  if (!options) return fail(2, options.error().text);
  if (options->help) {
    std::cout << config::daemon_help();
    return 0;
  }
  if (options->version) {
    std::cout << "collwatchd " << COLLWATCH_VERSION << "\n";
    return 0;
  }
  config::Sources sources;
  sources.file = options->config_file;
  sources.environment = config::process_environment();
  sources.flags = options->flags;

  spdlog::set_default_logger(
      std::make_shared<spdlog::logger>("", std::make_shared<spdlog::sinks::stderr_sink_mt>()));
  spdlog::set_pattern("%Y-%m-%dT%H:%M:%S.%e%z %l %v");
  spdlog::flush_on(spdlog::level::info);

  auto config = config::load(sources);
  if (!config) return fail(2, config.error().text);
  return run(std::move(*config), sources);
}
