// SPDX-License-Identifier: Apache-2.0
//
// The strangers find a process's listening ports and knock on them.
#include "daemon/demo/stranger.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>

#include "tests/support/catch.h"

using namespace collwatch::demo;

TEST_CASE("listening ports are found, and knocked on") {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  REQUIRE(bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0);
  socklen_t size = sizeof address;
  REQUIRE(getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size) == 0);
  const std::uint16_t port = ntohs(address.sin_port);
  auto ports = listening_ports(getpid());
  CHECK(std::count(ports.begin(), ports.end(), port) == 0);  // bound is not listening
  REQUIRE(listen(fd, 16) == 0);
  ports = listening_ports(getpid());
  CHECK(std::count(ports.begin(), ports.end(), port) == 1);

  {
    Stranger::Door door;
    door.address = "127.0.0.1";
    door.ports = {port};
    const Stranger stranger({door});
    for (int i = 0; i < 200 && stranger.knocks() < 3; ++i) usleep(50000);
    CHECK(stranger.knocks() >= 3);
  }
  close(fd);
}
