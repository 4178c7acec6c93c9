// SPDX-License-Identifier: Apache-2.0
//
// What loading does beyond answering the cases: values arrive, precedence, paths, permissions,
// this machine.
#include "daemon/config/load.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "daemon/config/key_flags.h"
#include "daemon/config/options.h"
#include "tests/support/catch.h"
#include "tests/unit/config/cases.h"

using namespace collwatch;
using namespace std::chrono_literals;
namespace fs = std::filesystem;

namespace {

class Folder {
 public:
  Folder() {
    std::string name = fs::temp_directory_path() / "collwatch-load-XXXXXX";
    REQUIRE(mkdtemp(name.data()) != nullptr);
    path_ = name;
  }
  ~Folder() { fs::remove_all(path_); }
  std::string write(const std::string& name, const std::string& text, mode_t mode = 0600) const {
    const std::string path = path_ / name;
    std::ofstream(path) << text;
    REQUIRE(chmod(path.c_str(), mode) == 0);
    return path;
  }
  fs::path path() const { return path_; }

 private:
  fs::path path_;
};

config::Sources sources(const std::string& file = "") {
  config::Sources made;
  made.file = file;
  made.host = test::case_host();
  return made;
}

/// Runs `what` as a user without privileges when the test runs as root, who may read everything.
template <typename F>
void without_privileges(F&& what) {
  const bool root = geteuid() == 0;
  if (root) REQUIRE(seteuid(65534) == 0);
  what();
  if (root) REQUIRE(seteuid(0) == 0);
}

}  // namespace

TEST_CASE("values of every kind arrive from a file") {
  const auto config = config::load_text(
      R"(
node: n1
listen: "[::1]:1234"
network: {interface: eth0, family: ipv4, address: 10.0.0.1}
peers: {insecure: true, listen: "0.0.0.0:9782"}
membership: {static: [n2=10.0.0.2:9000, n1], join_grace: 1m}
labels: {cluster: c, rack: r, rail: "0"}
probes:
  edge: {interval: 2s, timeout: 100ms, payloads: [64, 1KiB]}
  gloo: {interval: 30s, timeout: 1s, collectives: [allgather, barrier], sizes: [4, 2MiB]}
  rendezvous: {interval: 1h, stores: []}
watch: {max_bytes_per_second: 5MB}
events: {path: /var/log/events.jsonl, max_bytes: 1MiB}
limits: {memory: 128MiB, suspects: 4}
)",
      sources());
  REQUIRE(config);
  CHECK(config->node == "n1");
  CHECK(config->listen == config::Endpoint{"::1", 1234});
  CHECK(config->network.interface == "eth0");
  CHECK(config->network.family == "ipv4");
  CHECK(config->network.address == "10.0.0.1");
  CHECK(config->peers.insecure);
  CHECK(config->peers.token.empty());
  REQUIRE(config->membership.members.size() == 2);
  CHECK(config->membership.members[0] == config::Member{"n1", {"n1", 9782}, {}});
  CHECK(config->membership.members[1] == config::Member{"n2", {"10.0.0.2", 9000}, {}});
  CHECK(config->membership.join_grace == 60s);
  CHECK(config->labels.rail == "0");
  CHECK(config->edge.interval == 2s);
  CHECK(config->edge.timeout == 100ms);
  CHECK(config->edge.payloads == std::vector<std::uint32_t>{64, 1024});
  CHECK(config->gloo.collectives ==
        std::vector<model::Collective>{model::Collective::allgather, model::Collective::barrier});
  CHECK(config->gloo.sizes == std::vector<std::uint32_t>{4, 2U << 20});
  CHECK(config->rendezvous.interval == 1h);
  CHECK(config->rendezvous.stores.empty());
  CHECK(config->events.path == "/var/log/events.jsonl");
  CHECK(config->events.max_bytes == 1U << 20);
  CHECK(config->watch.max_bytes_per_second == 5000000);
  CHECK(config->limits.memory == 128ULL << 20);
  CHECK(config->limits.suspects == 4);
  CHECK(config->warnings.empty());
}

TEST_CASE("flag beats environment beats file") {
  const auto config = config::load(test::case_sources("ok_flag_beats_environment_beats_file"));
  REQUIRE(config);
  CHECK(config->edge.interval == 5s);
  CHECK(config->gloo.interval == 30s);
  CHECK(config->gloo.sizes == std::vector<std::uint32_t>{4, 1024});
}

TEST_CASE("no file is needed") {
  auto from = sources();
  from.flags = {{"membership.static", "this-host, n2"}, {"peers.insecure", "true"}};
  const auto config = config::load(from);
  REQUIRE(config);
  CHECK(config->node == "this-host");
  CHECK(config->file.empty());
}

TEST_CASE("a member file brings everybody's labels and addresses, sorted") {
  const auto config = config::load(test::case_sources("ok_peers_file"));
  REQUIRE(config);
  REQUIRE(config->membership.members.size() == 4);
  CHECK(config->membership.members[0].name == "n1");
  CHECK(config->membership.members[1].labels.at("rack") == "r1");
  CHECK(config->membership.members[2].address == config::Endpoint{"fd00::3", 9790});
  CHECK(config->membership.members[3].address == config::Endpoint{"n4", 9782});
  CHECK(config->labels.rack == "r1");
  CHECK(config->labels.rail == "1");
  CHECK(config->peers.token == "a shared secret of the tests, 32+");

  const auto again = config::load_members(config->membership.file, "n1");
  REQUIRE(again);
  CHECK(*again == config->membership.members);
  CHECK_FALSE(config::load_members(config->membership.file, "n9"));
}

TEST_CASE("relative paths belong to the file that has them, or to the caller's folder") {
  const Folder folder;
  folder.write("token", "0123456789abcdef\n");
  const std::string file =
      folder.write("c.yaml",
                   "node: n1\nmembership: {static: [n1, n2]}\npeers: {token_file: token}\n"
                   "events: {path: e.jsonl}\n");
  auto from = sources(file);
  const auto config = config::load(from);
  REQUIRE(config);
  CHECK(config->peers.token == "0123456789abcdef");
  CHECK(config->events.path == (folder.path() / "e.jsonl").string());
  from.flags["events.path"] = "here.jsonl";
  CHECK(config::load(from)->events.path == "here.jsonl");
}

TEST_CASE("a token that everybody can read is used, with a warning") {
  const Folder folder;
  auto from = sources();
  from.flags = {{"membership.static", "n1,n2"},
                {"node", "n1"},
                {"peers.token_file", folder.write("open", "0123456789abcdef", 0644)}};
  const auto open = config::load(from);
  REQUIRE(open);
  REQUIRE(open->warnings.size() == 1);
  CHECK(open->warnings[0] == "--peers.token_file: " + from.flags["peers.token_file"] +
                                 ": readable by everybody on this host; chmod 0600 it");
  from.flags["peers.token_file"] = folder.write("closed", "0123456789abcdef", 0640);
  CHECK(config::load(from)->warnings.empty());
}

TEST_CASE("what may not be read is named with the reason") {
  const Folder folder;
  REQUIRE(chmod(folder.path().c_str(), 0755) == 0);
  const std::string secret = folder.write("secret", "0123456789abcdef", 0000);
  auto from = sources();
  from.flags = {{"membership.static", "n1,n2"}, {"node", "n1"}, {"peers.token_file", secret}};
  without_privileges([&] {
    const auto config = config::load(from);
    REQUIRE_FALSE(config);
    CHECK(config.error().text ==
          "--peers.token_file: " + secret + ": cannot be read: Permission denied");
    const auto file = config::load(sources(secret));
    REQUIRE_FALSE(file);
    CHECK(file.error().text == secret + ": cannot be read: Permission denied");
    CHECK(file.error().code == model::ErrorCode::permission);
  });
}

TEST_CASE("a FIFO or a huge file at the path is refused at once") {
  const Folder folder;
  const std::string fifo = folder.path() / "fifo";
  REQUIRE(mkfifo(fifo.c_str(), 0600) == 0);
  CHECK(config::load(sources(fifo)).error().text == fifo + ": not a regular file");
  const std::string huge = folder.write("huge.yaml", std::string((1U << 20) + 1, '#'));
  CHECK(config::load(sources(huge)).error().text == huge + ": larger than 1048576 bytes");
}

TEST_CASE("hostile YAML is refused, not followed") {
  const auto said = [](const std::string& yaml) {
    const auto config = config::load_text(yaml, sources("x.yaml"));
    return config ? std::string("ok") : config.error().text;
  };
  CHECK(said(std::string(10000, '[')).find("nested too deeply") != std::string::npos);
  CHECK(said("a: &x [1]\nb: *x").find("anchors") != std::string::npos);
  std::string many = "watch: {logs: [";
  for (int i = 0; i < 30000; ++i) many += "1,";
  CHECK(said(many + "]}").find("too many values") != std::string::npos);
  std::string unknown;
  for (int i = 0; i < 500; ++i) unknown += "zz" + std::to_string(i) + ": 1\n";
  CHECK(said(unknown).find("(452 more)") != std::string::npos);
  CHECK(said(std::string("\0\xff\xfe: [", 6)).find("x.yaml:1: ") == 0);
}

TEST_CASE("globs that never end or do not mean what they say are refused by the key's name") {
  const auto said = [](const std::string& glob) {
    const auto config = config::load_text("watch: {logs: ['" + glob + "']}", sources("x.yaml"));
    return config ? std::string("ok") : config.error().text;
  };
  std::string bomb = "/l/";
  for (int i = 0; i < 30; ++i) bomb += "{a,b}";
  CHECK(said(bomb).find("more than 64 alternatives") != std::string::npos);
  CHECK(said(bomb).find("watch.logs") != std::string::npos);
  CHECK(said("/l/{a,b,c,d}{a,b,c,d}{a,b,c,d}{a}").find("watch.logs") == std::string::npos);
  CHECK(said("/l/{a,b,c,d}{a,b,c,d}{a,{b,c},d,e}").find("alternatives") != std::string::npos);
  CHECK(said("/l/{a,b").find("a { that is not closed") != std::string::npos);
  CHECK(said("/l/[ab/c]").find("a [ that is not closed") != std::string::npos);
  CHECK(said("/l/{[a,b]}").find("a [ that is not closed") != std::string::npos);
  CHECK(said("/l/**/x.log").find("**") != std::string::npos);
  for (const char* fine : {"/l/[]a]*/[!]*]?.log", "/l/\\{a", "/l/\\[a", "/l/a}b,c", "/l/{[ab],c}"})
    CHECK(said(fine).find("watch.logs") == std::string::npos);
}

TEST_CASE("this machine has a name and a loopback interface") {
  const auto host = config::this_host();
  REQUIRE(host);
  CHECK_FALSE(host->name.empty());
  bool loopback = false;
  for (const auto& interface : host->interfaces) loopback = loopback || interface.name == "lo";
  CHECK(loopback);
}

TEST_CASE("a reload may change everything but ports, name, round length and event log") {
  auto from = sources();
  from.flags = {{"membership.static", "n1,n2"}, {"node", "n1"}, {"peers.insecure", "true"}};
  const auto old = config::load(from).value();
  from.flags["probes.edge.timeout"] = "400ms";
  CHECK(config::needs_restart(old, config::load(from).value()).empty());
  from.flags["probes.edge.interval"] = "2s";
  from.flags["network.interface"] = "lo";
  from.flags["network.family"] = "ipv4";
  from.flags["network.address"] = "127.0.0.1";
  from.flags["events.path"] = "/tmp/events.jsonl";
  from.flags["listen"] = "127.0.0.1:1";
  from.flags["peers.listen"] = "[::]:2";
  from.flags["node"] = "n2";
  CHECK(config::needs_restart(old, config::load(from).value()) ==
        std::vector<std::string>{"node", "listen", "peers.listen", "probes.edge.interval",
                                 "network.interface", "network.family", "network.address",
                                 "events"});
}

TEST_CASE(
    "an event log that could not be written is a config error at once, not at the first event") {
  const Folder folder;
  const auto said = [](const std::string& path, bool running = false) {
    auto from = sources();
    from.flags = {{"membership.static", "n1,n2"},
                  {"node", "n1"},
                  {"peers.insecure", "true"},
                  {"events.path", path}};
    from.running = running;
    const auto config = config::load(from);
    return config ? std::string("ok") : config.error().text;
  };
  const std::string base = folder.path();
  CHECK(said(base + "/events.jsonl") == "ok");
  CHECK(access((base + "/events.jsonl").c_str(), F_OK) != 0);  // looked at, not made
  CHECK(said("/dev/null") == "ok");
  CHECK(said(base + "/nowhere/events.jsonl") ==
        "--events.path: no folder " + base + "/nowhere/: No such file or directory");
  CHECK(said(base) == "--events.path: " + base + ": not a regular file");
  const std::string file = folder.write("a_file", "");
  CHECK(said(file + "/events.jsonl") == "--events.path: no folder " + file + "/: Not a directory");
  CHECK(said(base + "/nowhere/events.jsonl", true) == "ok");  // a reload does not ask again

  const uid_t us = geteuid();
  chmod(base.c_str(), 0555);
  if (us == 0) REQUIRE(seteuid(65534) == 0);  // root may write everywhere
  const std::string no_folder = said(base + "/events.jsonl");
  const std::string no_file = said(file);
  if (us == 0) REQUIRE(seteuid(us) == 0);
  chmod(base.c_str(), 0700);
  CHECK(no_folder == "--events.path: cannot create files in " + base + "/: Permission denied");
  CHECK(no_file ==
        (us == 0 ? "--events.path: cannot write to " + file + ": Permission denied"
                 : "--events.path: cannot create files in " + base + "/: Permission denied"));
}

TEST_CASE("flags are keys with values, one way or the other") {
  const auto flags = config::parse_key_flags(
      {"--probes.edge.interval", "2s", "--listen=[::1]:1", "--config", "c"}, {"config"});
  REQUIRE(flags);
  CHECK(*flags == std::map<std::string, std::string>{
                      {"probes.edge.interval", "2s"}, {"listen", "[::1]:1"}, {"config", "c"}});
  const auto said = [](std::vector<std::string> arguments) {
    return config::parse_key_flags(arguments, {"config"}).error().text;
  };
  CHECK(said({"--confg", "x"}) == "--confg: unknown key; did you mean --config?");
  CHECK(said({"--probes.edge.timout", "1s"}) ==
        "--probes.edge.timout: unknown key; did you mean --probes.edge.timeout?");
  CHECK(said({"--listen"}) == "--listen: needs a value");
  CHECK(said({"--listen", "--node", "x"}) == "--listen: needs a value");
  CHECK(said({"--node=a", "--node=b"}) == "--node: given twice");
  CHECK(said({"file.yaml"}) == "'file.yaml': unexpected; write --section.key VALUE");
  CHECK(said({"--"}) == "'--': unexpected; write --section.key VALUE");
}

TEST_CASE("the daemon's own flags stand beside the keys, help and version win") {
  const auto options = config::parse_daemon_options({"--config", "c.yaml", "--node", "n1"});
  REQUIRE(options);
  CHECK(options->config_file == "c.yaml");
  CHECK(options->flags == std::map<std::string, std::string>{{"node", "n1"}});
  CHECK_FALSE(options->help);
  CHECK(config::parse_daemon_options({"--nonsense", "--help"})->help);
  CHECK(config::parse_daemon_options({"--version"})->version);
  CHECK(config::parse_daemon_options({"--nonsense"}).error().text == "--nonsense: unknown key");
  CHECK(config::daemon_help().find("--config FILE") != std::string::npos);
}
