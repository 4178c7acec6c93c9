// SPDX-License-Identifier: Apache-2.0
//
// The texts of /proc as values. Pure; the bytes come from other people's processes and may be cut
// anywhere, so whatever does not parse is left out.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace collwatch::processes {

struct Stat {
  std::string name;
  char state = '?';
  int parent = 0;
  std::uint64_t start_ticks = 0;
  std::uint64_t cpu_ticks = 0;  ///< in user and kernel mode
  bool kernel_thread = false;
};
std::optional<Stat> parse_stat(std::string_view text);

using Environment = std::map<std::string, std::string, std::less<>>;
/// Only the variables that say something about a training job; nobody's secrets are kept. Those
/// that name files hold whatever bytes they hold, the others are printable.
Environment parse_environment(std::string_view bytes);

/// The arguments, without control characters.
std::vector<std::string> parse_command_line(std::string_view bytes);

/// The files of a maps text that have to do with training, each once.
std::vector<std::string> training_files(std::string_view maps);

/// The last number of NSpid: the pid inside the innermost namespace; 0 where there is none.
int inner_pid(std::string_view status);

/// The user whom the files belong to that a process makes; nothing where the text does not say it.
std::optional<unsigned> file_user(std::string_view status);

struct TcpSocket {
  std::string local, remote;  ///< addresses as text; mapped IPv4 as IPv4
  int local_port = 0, remote_port = 0;
  bool listening = false;
  std::uint64_t inode = 0;
  std::optional<std::uint64_t> bytes;  ///< sent and acknowledged, plus received
};
/// Of /proc/net/tcp and tcp6: those that are established or listen.
std::vector<TcpSocket> parse_tcp(std::string_view text);
/// From the bytes of an address in network order, 4 or 16.
std::string address_text(const unsigned char* bytes, std::size_t length);

/// The version of NVIDIA's driver in /proc/driver/nvidia/version; empty where there is none.
std::string driver_version(std::string_view text);

/// The names of /proc/net/dev.
std::vector<std::string> parse_interfaces(std::string_view net_dev);

/// Which interface an address of this host belongs to.
class LocalAddresses {
 public:
  /// From /proc/net/route and /proc/net/if_inet6.
  LocalAddresses(std::string_view route, std::string_view if_inet6);
  LocalAddresses() = default;
  void add(const std::string& address, const std::string& interface) {
    exact_[address] = interface;
  }
  /// Empty where nothing says it.
  std::string interface_of(const std::string& address) const;

 private:
  struct Net {
    std::uint32_t net, mask;
    std::string interface;
  };
  std::vector<Net> nets_;
  std::map<std::string, std::string> exact_;
};

bool is_loopback(std::string_view address);

/// The loopback address that a hosts file gives that host name; empty where it gives none, or a
/// real address first.
std::string loopback_of_name(std::string_view hosts, std::string_view name);

/// `text` cut to `limit`, with '?' for what is not printable ASCII.
std::string printable(std::string_view text, std::size_t limit);

/// A whole decimal number of at most nine digits.
std::optional<int> whole_number(std::string_view text);

/// The lines of `text`, without their ends.
std::vector<std::string_view> lines_of(std::string_view text);
/// Its words between blanks.
std::vector<std::string_view> words_of(std::string_view text);

}  // namespace collwatch::processes
