// SPDX-License-Identifier: Apache-2.0
//
// A /proc of a test's own in a temporary folder: processes with whatever stat, environment, maps,
// threads, files and namespaces the test wants, that come, change and go.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "daemon/processes/surroundings.h"

namespace collwatch::test {

struct FakeProcess {
  int pid = 0;
  int parent = 1;
  std::string name = "python3";
  char state = 'S';
  unsigned flags = 0;
  long cpu_ticks = 0;
  long start_ticks = 1000;  ///< of 100 a second; the machine is up for 1000 s
  std::vector<std::string> command = {"python3", "train.py"};
  std::map<std::string, std::string> environment = {};
  std::vector<std::string> maps = {};
  std::vector<std::string> threads = {};
  std::vector<std::string> files = {};  ///< targets of its descriptors
  std::string network = "net:[1]";
  std::string pids = "pid:[1]";
  std::optional<unsigned> user = std::nullopt;  ///< of the test where it is not given
};

class FakeProc {
 public:
  FakeProc();
  ~FakeProc();
  FakeProc(const FakeProc&) = delete;
  FakeProc& operator=(const FakeProc&) = delete;

  /// Writes it anew, whatever it was before.
  void put(const FakeProcess& process) const;
  void remove(int pid) const;
  /// A file as process `pid` sees it.
  void put_file(int pid, const std::string& path, const std::string& text) const;
  /// /proc/PID/net/NAME
  void put_net(int pid, const std::string& name, const std::string& text) const;
  std::filesystem::path folder(int pid) const { return root_ / std::to_string(pid); }

  /// Without counted sockets; ticks are 100 a second, the host's name is node-a.
  processes::Surroundings surroundings() const;

 private:
  std::filesystem::path root_;
};

/// A rank of a torchrun job of `world` on this host alone, PyTorch mapped.
FakeProcess torch_rank(int pid, int rank, int world, int parent = 1);

/// The text of /proc/PID/net/tcp for sockets between 127.0.0.1 ports.
std::string tcp_table(const std::vector<processes::TcpSocket>& sockets);

/// An established socket between two ends on 127.0.0.1 unless told otherwise.
processes::TcpSocket tcp(std::uint64_t inode, int local_port, int remote_port,
                         std::optional<std::uint64_t> bytes = std::nullopt,
                         const std::string& local = "127.0.0.1",
                         const std::string& remote = "127.0.0.1");

}  // namespace collwatch::test
