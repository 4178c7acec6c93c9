// SPDX-License-Identifier: Apache-2.0
//
// Real files and links, so that the reader under test opens what it always opens.
#include "tests/unit/processes/fake_proc.h"

#include <arpa/inet.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <fstream>
#include <stdexcept>

namespace collwatch::test {
namespace fs = std::filesystem;
namespace {

void write(const fs::path& path, const std::string& text) {
  fs::create_directories(path.parent_path());
  std::ofstream(path, std::ios::binary) << text;
}

std::string with_zeros(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += word + '\0';
  return text;
}

std::string stat_of(const FakeProcess& process) {
  std::string text =
      std::to_string(process.pid) + " (" + process.name + ") " + process.state + " " +
      std::to_string(process.parent) + " 1 1 0 -1 " + std::to_string(process.flags) + " 1 2 3 4 " +
      std::to_string(process.cpu_ticks) + " 0 0 0 20 0 1 0 " + std::to_string(process.start_ticks);
  for (int i = 23; i <= 52; ++i) text += " 0";
  return text + "\n";
}

void link_to(const fs::path& path, const std::string& target) {
  fs::create_directories(path.parent_path());
  fs::create_symlink(target, path);
}

std::string end_text(const std::string& address, int port) {
  in_addr number{};
  inet_pton(AF_INET, address.c_str(), &number);
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%08X:%04X", number.s_addr, static_cast<unsigned>(port));
  return text.data();
}

}  // namespace

FakeProc::FakeProc() {
  std::string name = fs::temp_directory_path() / "collwatch-proc-XXXXXX";
  if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("mkdtemp");
  root_ = name;
  write(root_ / "uptime", "1000.00 1000.00\n");
  write(root_ / "sys/net/ipv4/ip_local_port_range", "32768\t60999\n");
  link_to(root_ / "self/ns/net", "net:[1]");
  link_to(root_ / "self/ns/pid", "pid:[1]");
  link_to(root_ / "self/ns/mnt", "mnt:[1]");
  link_to(root_ / "self/ns/uts", "uts:[1]");
}

FakeProc::~FakeProc() {
  std::error_code ignored;
  fs::remove_all(root_, ignored);
}

void FakeProc::put(const FakeProcess& process) const {
  const fs::path at = folder(process.pid);
  for (const char* const part : {"stat", "fd", "ns", "task"}) fs::remove_all(at / part);
  write(at / "stat", stat_of(process));
  write(at / "cmdline", with_zeros(process.command));
  std::vector<std::string> variables;
  for (const auto& [name, value] : process.environment) variables.push_back(name + "=" + value);
  write(at / "environ", with_zeros(variables));
  std::string maps;
  for (const std::string& path : process.maps) {
    maps +=
        "7f0000000000-7f0000001000 r-xp 00000000 08:01 1234                       " + path + "\n";
  }
  write(at / "maps", maps);
  const std::string user = "\t" + std::to_string(process.user.value_or(::geteuid()));
  write(at / "status", "Name:\tx\nUid:" + user + user + user + user + "\nNSpid:\t" +
                           std::to_string(process.pid) + "\n");
  int number = process.pid;
  write(at / "task" / std::to_string(number) / "comm", process.name + "\n");
  for (const std::string& thread : process.threads) {
    write(at / "task" / std::to_string(++number) / "comm", thread + "\n");
  }
  number = 0;
  fs::create_directories(at / "fd");
  for (const std::string& file : process.files) link_to(at / "fd" / std::to_string(number++), file);
  link_to(at / "ns/net", process.network);
  link_to(at / "ns/pid", process.pids);
  link_to(at / "ns/mnt", "mnt:[1]");
  link_to(at / "ns/uts", "uts:[1]");
  fs::create_directories(at / "root");
}

void FakeProc::remove(int pid) const {
  fs::remove_all(folder(pid));
}

void FakeProc::put_file(int pid, const std::string& path, const std::string& text) const {
  write(folder(pid) / "root" / fs::path(path).relative_path(), text);
}

void FakeProc::put_net(int pid, const std::string& name, const std::string& text) const {
  write(folder(pid) / "net" / name, text);
}

processes::Surroundings FakeProc::surroundings() const {
  processes::Surroundings here;
  here.proc = root_;
  here.host_name = "node-a";
  return here;
}

FakeProcess torch_rank(int pid, int rank, int world, int parent) {
  FakeProcess process;
  process.pid = pid;
  process.parent = parent;
  process.environment = {
      {"RANK", std::to_string(rank)},       {"WORLD_SIZE", std::to_string(world)},
      {"LOCAL_RANK", std::to_string(rank)}, {"LOCAL_WORLD_SIZE", std::to_string(world)},
      {"MASTER_ADDR", "127.0.0.1"},         {"MASTER_PORT", "29500"},
      {"TORCHELASTIC_RUN_ID", "run-17"}};
  process.maps = {"/usr/lib/python3/site-packages/torch/lib/libtorch_cpu.so"};
  return process;
}

std::string tcp_table(const std::vector<processes::TcpSocket>& sockets) {
  std::string text =
      "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt\n";
  for (const processes::TcpSocket& socket : sockets) {
    text += "   0: " + end_text(socket.local, socket.local_port) + " " +
            end_text(socket.remote, socket.remote_port) + (socket.listening ? " 0A" : " 01") +
            " 00000000:00000000 00:00000000 00000000     0        0 " +
            std::to_string(socket.inode) + " 1 0000 20 4 30 10 -1\n";
  }
  return text;
}

processes::TcpSocket tcp(std::uint64_t inode, int local_port, int remote_port,
                         std::optional<std::uint64_t> bytes, const std::string& local,
                         const std::string& remote) {
  processes::TcpSocket socket;
  socket.local = local;
  socket.remote = remote;
  socket.local_port = local_port;
  socket.remote_port = remote_port;
  socket.inode = inode;
  socket.bytes = bytes;
  return socket;
}

}  // namespace collwatch::test
