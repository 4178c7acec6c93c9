// SPDX-License-Identifier: Apache-2.0
//
// The file behind http.auth_file: what is taken, what is refused and where, and that no hash is
// ever told.
#include "daemon/config/users.h"

#include <sys/stat.h>
#include <unistd.h>

#include <fstream>

#include "daemon/config/load.h"
#include "daemon/config/print.h"
#include "tests/support/catch.h"
#include "tests/unit/config/cases.h"

using namespace collwatch;

namespace {

const std::string kHash = "$6$saltsalt$" + std::string(86, 'h');

std::string refused(const std::string& text) {
  const auto users = config::parse_users(text, "users");
  return users ? "" : users.error().text;
}

/// A file of users with these permissions, and the configuration that names it.
struct UsersFile {
  explicit UsersFile(const std::string& text, mode_t mode = 0600) {
    REQUIRE(mkdtemp(folder.data()) != nullptr);
    std::ofstream(path()) << text;
    chmod(path().c_str(), mode);
  }
  ~UsersFile() {
    unlink(path().c_str());
    rmdir(folder.c_str());
  }
  std::string path() const { return folder + "/users"; }
  model::Result<config::Config> load() const {
    config::Sources sources;
    sources.host = test::case_host();
    return config::load_text(
        "node: n1\nmembership: {static: [n1=10.0.0.1]}\npeers: {insecure: "
        "true}\nhttp: {auth_file: " +
            path() + "}\n",
        sources);
  }
  std::string folder = "/tmp/collwatch-users-XXXXXX";
};

}  // namespace

TEST_CASE("users, comments and blank lines") {
  const auto users = config::parse_users("# who\n\nann:" + kHash + "\r\nbob b:$y$j9T$" +
                                             std::string(22, 's') + "$" + std::string(43, 'h'),
                                         "users");
  REQUIRE(users);
  REQUIRE(users->size() == 2);
  CHECK((*users)[0] == config::Config::Http::User{"ann", kHash});
  CHECK((*users)[1].name == "bob b");
}

TEST_CASE("what is no user, or a hash that is weak or costs too much, is refused with its line") {
  CHECK(refused("") == "users: no users: with nobody in it the port would be closed to all");
  CHECK(refused("#only\nann\n") == "users:2: write user:hash");
  CHECK(refused(":" + kHash) == "users:1: write user:hash");
  CHECK(refused("ann:secret").find("users:1: user 'ann': no password hash") == 0);
  CHECK(refused("ann:$1$saltsalt$aaaaaaaaaaaaaaaaaaaaaa").find("not taken") != std::string::npos);
  CHECK(refused("ann:$apr1$saltsalt$aaaaaaaaaaaaaaaaaaaaaa").find("not taken") !=
        std::string::npos);
  CHECK(refused("ann:" + kHash + "\nann:" + kHash) == "users:2: user 'ann': is there already");
  CHECK(refused("ann:$6$rounds=500001$saltsalt$hhhhhhhhhh").find("rounds") != std::string::npos);
  CHECK(refused("ann:$2b$13$" + std::string(53, 'h')).find("bcrypt") != std::string::npos);
  CHECK(refused("ann:$2b$12$" + std::string(53, 'h')).empty());
  CHECK(refused("ann:$y$jFT$ssss$" + std::string(43, 'h')).find("memory") != std::string::npos);
  std::string many;
  for (int i = 0; i < 65; ++i) many += "u" + std::to_string(i) + ":" + kHash + "\n";
  CHECK(refused(many) == "users:65: more than 64 users");
}

TEST_CASE("a file of users is loaded, and neither a hash nor a bad line is printed") {
  const UsersFile good("ann:" + kHash + "\n");
  const auto config = good.load();
  REQUIRE(config);
  REQUIRE(config->http.users.size() == 1);
  CHECK(config->http.users[0].password_hash == kHash);
  CHECK(config::print(*config).find("saltsalt") == std::string::npos);
  const UsersFile bad("ann:hunter2:" + kHash + "\n");
  const auto refused = bad.load();
  REQUIRE_FALSE(refused);
  CHECK(refused.error().text.find("hunter2") == std::string::npos);
}

TEST_CASE("a file of users that others may read or write is refused") {
  for (const mode_t mode : {0604, 0602, 0646}) {
    const UsersFile open_to_all("ann:" + kHash + "\n", mode);
    const auto config = open_to_all.load();
    REQUIRE_FALSE(config);
    CHECK(config.error().text.find("chmod 0600") != std::string::npos);
  }
  CHECK(UsersFile("ann:" + kHash + "\n", 0640).load());
}
