// SPDX-License-Identifier: Apache-2.0
//
// The demo's lab without the demo, for end to end tests in other languages: starts real agents in
// network namespaces, prints where everything is as one JSON line, then obeys lines on its standard
// input ("inject drop:n2", "repair drop:n2"), each answered with "ok" or "error: why". Ends, with
// everything it made, at the end of its input or on SIGINT and SIGTERM. Times in a SPEC are
// ignored.
#include <poll.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "daemon/demo/inject.h"
#include "daemon/demo/interrupt.h"
#include "daemon/demo/lab.h"

using namespace collwatch::demo;
using collwatch::model::Result;

namespace {

void print_places(Lab& lab) {
  std::string nodes;
  for (int node = 0; node < lab.nodes(); ++node) {
    const AgentPlace& place = lab.agent(node).place();
    nodes += std::string(node > 0 ? ", " : "") + "{\"name\": \"" + place.name +
             "\", \"netns\": \"" + place.netns + "\", \"status\": \"" + place.peer_address + ":" +
             std::to_string(place.status_port) + "\"}";
  }
  std::printf("{\"switch\": \"%s\", \"address\": \"%s\", \"directory\": \"%s\", \"nodes\": [%s]}\n",
              lab.fabric()->switch_netns().c_str(), lab.fabric()->switch_address().c_str(),
              lab.directory().c_str(), nodes.c_str());
  std::fflush(stdout);
}

Result<void> obey(const std::string& line, Injector& injector, int nodes) {
  const std::size_t space = line.find(' ');
  const std::string verb = line.substr(0, space);
  if (space == std::string::npos || (verb != "inject" && verb != "repair")) {
    return collwatch::model::fail(collwatch::model::ErrorCode::invalid_argument,
                                  "write 'inject SPEC' or 'repair SPEC'");
  }
  const auto fault = parse_fault(line.substr(space + 1), nodes);
  if (!fault) return collwatch::model::fail(fault.error());
  if (auto possible = check_ground({*fault}, {nodes, true, std::chrono::hours(1)}); !possible) {
    return possible;
  }
  return verb == "inject" ? injector.inject(*fault) : injector.repair(*fault);
}

/// Lines from standard input until its end or a signal.
void serve(Lab& lab) {
  Injector injector(lab);
  std::string pending;
  while (!Interrupt::asked()) {
    pollfd input = {STDIN_FILENO, POLLIN, 0};
    if (poll(&input, 1, 200) <= 0) continue;
    char buffer[512];
    const ssize_t n = read(STDIN_FILENO, buffer, sizeof buffer);
    if (n <= 0) return;
    pending.append(buffer, static_cast<std::size_t>(n));
    for (std::size_t end; (end = pending.find('\n')) != std::string::npos;) {
      const auto done = obey(pending.substr(0, end), injector, lab.nodes());
      pending.erase(0, end + 1);
      std::printf("%s\n", done ? "ok" : ("error: " + done.error().text).c_str());
      std::fflush(stdout);
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: demo_lab BIN_DIR NODES\n");
    return 2;
  }
  const Interrupt interrupt;
  LabOptions options;
  options.bin_dir = argv[1];
  options.nodes = std::atoi(argv[2]);
  options.status_on_fabric = true;
  auto lab = Lab::create(options);
  if (!lab || (*lab)->fabric() == nullptr) {
    std::fprintf(stderr, "demo_lab: %s\n",
                 lab ? (*lab)->loopback_because().c_str() : lab.error().text.c_str());
    return 2;
  }
  for (int node = 0; node < options.nodes; ++node) {
    if (auto started = (*lab)->start(node); !started) {
      std::fprintf(stderr, "demo_lab: %s\n", started.error().text.c_str());
      return 2;
    }
  }
  print_places(**lab);
  serve(**lab);
  return 0;
}
