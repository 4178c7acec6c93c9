// SPDX-License-Identifier: Apache-2.0
//
// collwatch: flags to options, options to a subcommand, its result to the exit code (design: 2 for
// usage errors, 3 for `check`). The only place that knows the command line library.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <string>
#include <system_error>
#include <vector>

#include "daemon/cli/agent_url.h"
#include "daemon/cli/commands.h"
#include "daemon/cli/terminal.h"
#include "daemon/config/suggest.h"
#include "daemon/config/units.h"
#include "daemon/demo/demo.h"

namespace {

using namespace collwatch;

/// Commands that later versions have; said as such rather than as a spelling error.
constexpr std::array<const char*, 3> kLater = {"top", "preflight", "simulate"};

struct Arguments {
  std::string url;
  bool json = false;
  bool npd = false;
  bool fleet = false;
  std::string config_file;
  std::string demo_duration = "60s";
  cli::InitOptions init;
  demo::Options demo;
  cli::DiagnoseOptions diagnose;
  cli::ExplainOptions explain;
  cli::InspectOptions inspect;
};

std::string default_url() {
  const char* const url = std::getenv("COLLWATCH_URL");
  return url != nullptr && *url != '\0' ? url : cli::kDefaultUrl;
}

void add_agent_commands(CLI::App& app, Arguments& arguments) {
  // What stands in the environment is shown by --help, but no secret.
  const std::string shown = cli::why_refused(arguments.url).empty() ? arguments.url : "refused";
  CLI::App* status = app.add_subcommand("status", "What one agent sees: a sentence, then tables");
  status->add_option("--url", arguments.url, "The agent: http://host:port, host:port or host")
      ->default_str(shown);
  status->add_flag("--json", arguments.json, "The agent's own JSON");
  status->add_flag("--fleet", arguments.fleet, "Not in this version");
  CLI::App* check = app.add_subcommand(
      "check", "One line and a Nagios exit code: 0 ok, 1 warning, 2 critical, 3 unknown");
  check->add_option("--url", arguments.url, "The agent")->default_str(shown);
  check->add_flag("--npd", arguments.npd,
                  "For node-problem-detector: exit 0 ok, 1 problem, 2 unknown");
}

void add_config_commands(CLI::App& app, Arguments& arguments) {
  CLI::App* config = app.add_subcommand("config", "Check, print or begin a configuration");
  config->require_subcommand(1);
  CLI::App* check = config->add_subcommand(
      "check", "Whether collwatchd would take this file on this node; every error with its line");
  check->add_option("FILE", arguments.config_file, "The configuration, or a file of fingerprints")
      ->required();
  check->allow_extras()->footer("Also takes --section.key VALUE, as collwatchd does.");
  CLI::App* print = config->add_subcommand("print", "The configuration in force, as YAML");
  print->add_option("--config", arguments.config_file, "The configuration");
  print->allow_extras()->footer("Also takes --section.key VALUE, as collwatchd does.");
  CLI::App* init = config->add_subcommand("init", "Write a first configuration and a fresh token");
  init->add_option("--peers", arguments.init.peers,
                   "All nodes: name or name=address, commas between")
      ->required()
      ->delimiter(',');
  init->add_option("--dir", arguments.init.folder, "Where to")->capture_default_str();
}

void add_demo_command(CLI::App& app, Arguments& arguments) {
  CLI::App* demo = app.add_subcommand(
      "demo", "Real agents on this host, something breaks, and who broke it is named");
  demo->add_option("--nodes", arguments.demo.nodes, "How many agents")
      ->check(CLI::Range(2, 8))
      ->capture_default_str();
  demo->add_option("--fault", arguments.demo.faults,
                   "What breaks: kind[:target][=value][@start[+duration]]; none only watches; may "
                   "be repeated (default stop:n2@10s+20s)")
      ->allow_extra_args(false);
  demo->footer(
      "Faults: kill stop killworker stopworker restart absent corrupt version iface hog (:n2),\n"
      "drop (:n2, :n1-n2, :n1>n2), egress ingress linkdown refuse (:n2), mtu:n2=1000,\n"
      "slow:n2=10mbit, loss:n2=10%, partition:n0,n1/n2,n3, clock:n2=+30.5s, scale=8, stray, none.\n"
      "Those of the network need root; version and corrupt a build with tests, clock libfaketime.");
  demo->add_option("--duration", arguments.demo_duration, "How long")->capture_default_str();
  demo->add_flag("--json", arguments.demo.json, "One JSON object a line");
  demo->add_flag("--loopback", arguments.demo.loopback,
                 "Without network namespaces even as root; only faults of processes then");
  demo->add_option("--network", arguments.demo.network,
                   "Addresses inside the namespaces: an IPv4 /24 or an IPv6 /64, e.g. fd83::/64")
      ->capture_default_str();
  demo->add_option("--base-port", arguments.demo.base_port,
                   "First port on loopback; two are used per agent")
      ->check(CLI::Range(1024, 65500))
      ->capture_default_str();
}

void add_fingerprints_option(CLI::App* command, std::vector<std::string>& files) {
  command
      ->add_option("--fingerprints", files,
                   "A file of your own fingerprints, over the built-in ones; may be repeated")
      ->type_name("FILE")
      ->allow_extra_args(false);
}

/// The first is the default.
void add_format_option(CLI::App* command, const std::vector<std::string>& formats,
                       const std::function<void(const std::string&)>& take) {
  std::string names;
  for (const std::string& format : formats) names += (names.empty() ? "" : "|") + format;
  const auto check = [formats, names](const std::string& word) {
    const bool is_known = std::find(formats.begin(), formats.end(), word) != formats.end();
    return is_known ? std::string() : "'" + word + "' is none of " + names;
  };
  command->add_option_function<std::string>("--format", take, "How to print it")
      ->check(CLI::Validator(check, "", "format"))
      ->type_name(names)
      ->default_str(formats.front());
}

std::string not_a_pid(const std::string& word) {
  int pid = 0;
  const char* const end = word.data() + word.size();
  const auto read = std::from_chars(word.data(), end, pid);
  const bool is_pid = read.ec == std::errc() && read.ptr == end && pid > 0;
  return is_pid ? "" : "'" + word + "' is no process: give its number, above 0";
}

void add_diagnose_command(CLI::App& app, Arguments& arguments) {
  CLI::App* diagnose = app.add_subcommand(
      "diagnose",
      "Which rank broke the run, why, what to do: from its logs, nothing leaves the machine");
  diagnose
      ->add_option(
          "FILE", arguments.diagnose.inputs,
          "Logs of one rank, of all, of the launcher, of the kernel: files (also .gz, .zst), "
          "folders, - for standard input")
      ->type_name("FILE|DIR|-");
  add_format_option(diagnose, {"text", "json", "markdown"}, [&](const std::string& word) {
    arguments.diagnose.format = word == "json"       ? cli::DiagnoseFormat::json
                                : word == "markdown" ? cli::DiagnoseFormat::markdown
                                                     : cli::DiagnoseFormat::text;
  });
  diagnose->add_option("--agent", arguments.diagnose.agent,
                       "Also ask this agent's probes whether the network is at fault");
  add_fingerprints_option(diagnose, arguments.diagnose.fingerprints);
  diagnose->add_flag("--redact", arguments.diagnose.redact,
                     "Stand-ins for hosts, users, folders and addresses");
}

void add_explain_command(CLI::App& app, Arguments& arguments) {
  CLI::App* explain = app.add_subcommand(
      "explain", "What a failure means, how to tell its causes apart, what to do; 4: not known");
  explain
      ->add_option("TEXT", arguments.explain.words,
                   "An id, a line of a log, some words, - for standard input; without it, the "
                   "table of all")
      ->type_name("ID|TEXT|-");
  explain->add_option("--layer", arguments.explain.layer,
                      "All errors of a layer side by side: nccl, gloo, store, ...");
  add_fingerprints_option(explain, arguments.explain.fingerprints);
  add_format_option(explain, {"text", "markdown"}, [&](const std::string& word) {
    arguments.explain.markdown = word == "markdown";
  });
}

void add_inspect_command(CLI::App& app, Arguments& arguments) {
  CLI::App* inspect = app.add_subcommand(
      "inspect",
      "The training processes here: ranks, backend in use, versions, what stalls; no agent needed");
  inspect->add_option("--pid", arguments.inspect.pid, "This process alone, rank or not")
      ->check(CLI::Validator(not_a_pid, "", "pid"))
      ->type_name("PID");
  inspect->add_flag("--json", arguments.inspect.json, "As JSON");
  inspect->add_flag("--once", arguments.inspect.once,
                    "One look instead of two a second apart: does not say what moves");
  inspect->add_flag("--dump", arguments.inspect.dump,
                    "Writes to the job: asks its ranks for Flight Recorder dumps through their "
                    "pipes, waits up to 30 s and diagnoses them");
}

int usage_error(const std::string& text, int code) {
  cli::complain(text);
  return code;
}

int run_demo(Arguments& arguments) {
  const auto duration = config::parse_duration(arguments.demo_duration);
  if (!duration || duration->count() == 0) {
    return usage_error("--duration: " + (duration ? "must not be 0" : duration.error().text),
                       cli::kUsageError);
  }
  arguments.demo.duration = *duration;
  return demo::run(arguments.demo);
}

int dispatch(CLI::App& app, Arguments& arguments) {
  const auto given = [&](const char* name) { return app.got_subcommand(name); };
  if (given("version")) {
    std::cout << "collwatch " COLLWATCH_VERSION "\n";
    return 0;
  }
  if (given("status")) {
    if (arguments.fleet) {
      return usage_error("status --fleet: not in this version", cli::kUsageError);
    }
    return cli::run_status({arguments.url, arguments.json});
  }
  if (given("check")) {
    return cli::run_check(
        {arguments.url, arguments.npd ? cli::CheckStyle::npd : cli::CheckStyle::nagios});
  }
  if (given("demo")) return run_demo(arguments);
  if (given("diagnose")) return cli::run_diagnose(arguments.diagnose);
  if (given("explain")) return cli::run_explain(arguments.explain);
  if (given("inspect")) return cli::run_inspect(arguments.inspect);
  CLI::App* config = app.get_subcommand("config");
  if (config->got_subcommand("init")) return cli::run_config_init(arguments.init);
  const bool print = config->got_subcommand("print");
  const auto key_flags = config->get_subcommand(print ? "print" : "check")->remaining();
  return print ? cli::run_config_print(arguments.config_file, key_flags)
               : cli::run_config_check(arguments.config_file, key_flags);
}

/// The command line library would only say that a subcommand is required.
std::string unknown_command(const CLI::App& app, const std::string& word) {
  std::vector<std::string> known;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    if (command->get_name() == word) return "";
    known.push_back(command->get_name());
  }
  return "'" + word + "' is no command" + config::did_you_mean(word, known);
}

/// What a usage error exits with: unknown for `check`, in the style it was asked for.
int usage_code(int argc, char** argv) {
  const bool is_check = argc > 1 && std::string(argv[1]) == "check";
  const bool is_npd = std::find(argv, argv + argc, std::string("--npd")) != argv + argc;
  return is_check && !is_npd ? cli::exit_code(cli::Health::unknown, cli::CheckStyle::nagios)
                             : cli::kUsageError;
}

/// Everything but the last word: whether what was printed has arrived.
int run(int argc, char** argv) {
  if (argc > 1 && std::find(kLater.begin(), kLater.end(), std::string(argv[1])) != kLater.end()) {
    return usage_error(std::string(argv[1]) + ": not in this version", cli::kUsageError);
  }
  Arguments arguments;
  arguments.url = default_url();
  CLI::App app("collwatch: names the node, link or rank that broke the collective", "collwatch");
  app.set_version_flag("--version", "collwatch " COLLWATCH_VERSION);
  app.require_subcommand(1);
  add_agent_commands(app, arguments);
  add_config_commands(app, arguments);
  add_demo_command(app, arguments);
  add_diagnose_command(app, arguments);
  add_explain_command(app, arguments);
  add_inspect_command(app, arguments);
  app.add_subcommand("version", "This program's version");
  if (argc > 1 && argv[1][0] != '-') {
    const std::string problem = unknown_command(app, argv[1]);
    if (!problem.empty()) return usage_error(problem, cli::kUsageError);
  }
  try {
    app.parse(argc, argv);
    return dispatch(app, arguments);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);  // --help, --version
    return usage_error(std::string(error.what()) + "\n(collwatch --help lists the usage)",
                       usage_code(argc, argv));
  } catch (const std::exception& error) {
    return usage_error(error.what(), 1);
  }
}

}  // namespace

/// Whoever reads an exit code trusts that the output is there.
int main(int argc, char** argv) {
  cli::hold_standard_streams();
  const int code = run(argc, argv);
  const std::string problem = cli::why_not_printed();
  return problem.empty() ? code : usage_error(problem, usage_code(argc, argv));
}
