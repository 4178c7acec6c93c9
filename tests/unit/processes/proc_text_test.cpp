// SPDX-License-Identifier: Apache-2.0
//
// Texts of /proc, ordinary, odd and cut off.
#include "daemon/processes/proc_text.h"

#include "tests/support/catch.h"
#include "tests/unit/processes/fake_proc.h"

using namespace collwatch;
using namespace collwatch::processes;

namespace {
constexpr const char* kTail =
    " 1 1 0 -1 4194304 1 2 3 4 150 50 0 0 20 0 1 0 98765 0 0 0 0 0 0 0 0 0 0 0 0";
}

TEST_CASE("a name may hold blanks and parentheses") {
  const auto stat = parse_stat(std::string("17 (a) S (x y) D 4") + kTail);
  REQUIRE(stat.has_value());
  CHECK(stat->name == "a) S (x y");
  CHECK(stat->state == 'D');
  CHECK(stat->parent == 4);
  CHECK(stat->cpu_ticks == 200);
  CHECK(stat->start_ticks == 98765);
  CHECK_FALSE(stat->kernel_thread);
}

TEST_CASE("a stat that is cut off is none, wherever it is cut") {
  const std::string whole = std::string("17 (python3) S 4") + kTail;
  for (std::size_t length = 0; length < whole.find("98765"); ++length) {
    INFO(length);
    CHECK_FALSE(parse_stat(std::string_view(whole).substr(0, length)).has_value());
  }
}

TEST_CASE("of an environment only what tells a rank is kept, the first of two as getenv does") {
  static constexpr char kBytes[] =
      "RANK=3\0AWS_SECRET_ACCESS_KEY=x\0RANK=4\0WORLD_SIZE\0GLOO_SOCKET_IFNAME=e\x1bth0";
  const Environment found = parse_environment({kBytes, sizeof kBytes});
  CHECK(found.size() == 2);
  CHECK(found.at("RANK") == "3");
  CHECK(found.at("GLOO_SOCKET_IFNAME") == "e?th0");
}

TEST_CASE("sockets: established and listening, IPv4 and what is mapped into IPv6") {
  const std::string v4 = test::tcp_table({test::tcp(11, 40000, 29500)});
  const auto one = parse_tcp(v4);
  REQUIRE(one.size() == 1);
  CHECK(one[0].local == "127.0.0.1");
  CHECK(one[0].local_port == 40000);
  CHECK(one[0].remote_port == 29500);
  CHECK(one[0].inode == 11);
  const auto six = parse_tcp(
      "   0: 0000000000000000FFFF00000100007F:9C40 0000000000000000FFFF00000100007F:733C 01 0:0 "
      "00:0 "
      "0 0 0 12 1\n"
      "   1: 00000000000000000000000001000000:9C41 00000000000000000000000000000000:0000 0A 0:0 "
      "00:0 "
      "0 0 0 13 1\n"
      "   2: 00000000000000000000000001000000:9C41 00000000000000000000000000000000:0000 06 0:0 "
      "00:0 "
      "0 0 0 0 1\n");
  REQUIRE(six.size() == 2);
  CHECK(six[0].local == "127.0.0.1");
  CHECK(six[1].local == "::1");
  CHECK(six[1].listening);
  CHECK(parse_tcp("garbage\n   0: 01:1 2:2 01 a b c d e f\n").empty());
}

TEST_CASE("an address belongs to the interface whose net is the narrowest") {
  const LocalAddresses addresses(
      "Iface\tDestination\tGateway\tFlags\tRefCnt\tUse\tMetric\tMask\n"
      "eth0\t00000000\t0100000A\t0003\t0\t0\t0\t00000000\n"
      "eth0\t0000000A\t00000000\t0001\t0\t0\t0\t000000FF\n"
      "ib0\t0007000A\t00000000\t0001\t0\t0\t0\t00FFFFFF\n",
      "fd000000000000000000000000000003 02 40 00 80 eth1\n");
  CHECK(addresses.interface_of("10.1.2.3") == "eth0");
  CHECK(addresses.interface_of("10.0.7.9") == "ib0");
  CHECK(addresses.interface_of("fd00::3") == "eth1");
  CHECK(addresses.interface_of("127.0.1.1") == "lo");
  CHECK(addresses.interface_of("192.168.0.1").empty());
}

TEST_CASE("a hosts file is read as the resolver reads it: the first line with the name") {
  const char* const text = "127.0.0.1 localhost\n127.0.1.1 node-a.example node-a # Debian\n";
  CHECK(loopback_of_name(text, "node-a") == "127.0.1.1");
  CHECK(loopback_of_name(text, "Debian").empty());
  CHECK(loopback_of_name("10.0.0.3 node-a\n127.0.1.1 node-a\n", "node-a").empty());
  CHECK(loopback_of_name(text, "").empty());
}

TEST_CASE("the version of NVIDIA's driver, of both of its modules") {
  CHECK(driver_version("NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.129.03  Thu Oct 19 "
                       "18:56:32 UTC 2023\nGCC version:  gcc version 11.4.0\n") == "535.129.03");
  CHECK(
      driver_version("NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  560.35.03  Release "
                     "Build  (dvs-builder@U16)\n") == "560.35.03");
  CHECK(driver_version("GCC\n535.1\n").empty());
  CHECK(driver_version("").empty());
}

TEST_CASE("interfaces, the innermost pid, files of a maps text") {
  CHECK(parse_interfaces("Inter-|   Receive\n face |bytes\n    lo: 1 2\n  eth0:7 8\n") ==
        std::vector<std::string>{"lo", "eth0"});
  CHECK(inner_pid("Name:\tx\nNSpid:\t4711\t17\n") == 17);
  CHECK(inner_pid("Name:\tx\n") == 0);
  const auto files = training_files(
      "7f00-7f01 r-xp 0 08:01 1 /opt/torch/lib/libtorch_cpu.so\n"
      "7f01-7f02 r--p 0 08:01 1 /opt/torch/lib/libtorch_cpu.so\n"
      "7f03-7f04 rw-s 0 00:01 1 /dev/shm/nccl-Xy12 (deleted)\n"
      "7f05-7f06 r-xp 0 08:01 1 /usr/lib/libc.so.6\n"
      "7f07-7f08 rw-p 0 00:00 0\n");
  CHECK(files ==
        std::vector<std::string>{"/opt/torch/lib/libtorch_cpu.so", "/dev/shm/nccl-Xy12 (deleted)"});
}
