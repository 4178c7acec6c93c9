// SPDX-License-Identifier: Apache-2.0
//
// Formats as in proc(5); field numbers are counted from there.
#include "daemon/processes/proc_text.h"

#include <arpa/inet.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <set>

namespace collwatch::processes {
namespace {

constexpr std::size_t kLongestValue = 256;
constexpr unsigned kKernelThread = 0x00200000;  // PF_KTHREAD
constexpr std::string_view kEstablished = "01";
constexpr std::string_view kListen = "0A";

/// Whatever may tell a rank, its job, its backend's settings.
constexpr auto kWanted = std::to_array<std::string_view>({"RANK",
                                                          "WORLD_SIZE",
                                                          "LOCAL_RANK",
                                                          "LOCAL_WORLD_SIZE",
                                                          "GROUP_RANK",
                                                          "GROUP_WORLD_SIZE",
                                                          "MASTER_ADDR",
                                                          "MASTER_PORT",
                                                          "TORCHELASTIC_RUN_ID",
                                                          "TORCHELASTIC_RESTART_COUNT",
                                                          "SLURM_JOB_ID",
                                                          "SLURM_PROCID",
                                                          "SLURM_LOCALID",
                                                          "SLURM_NODEID",
                                                          "SLURM_NTASKS",
                                                          "SLURM_NPROCS",
                                                          "SLURM_NNODES",
                                                          "SLURM_STEP_NUM_NODES",
                                                          "SLURM_STEP_NUM_TASKS",
                                                          "OMPI_COMM_WORLD_RANK",
                                                          "OMPI_COMM_WORLD_SIZE",
                                                          "OMPI_COMM_WORLD_LOCAL_RANK",
                                                          "OMPI_COMM_WORLD_LOCAL_SIZE",
                                                          "PMI_RANK",
                                                          "PMI_SIZE",
                                                          "PMIX_RANK",
                                                          "PMIX_NAMESPACE",
                                                          "PBS_JOBID",
                                                          "LSB_JOBID",
                                                          "RAY_JOB_ID",
                                                          "HOSTNAME",
                                                          "GLOO_SOCKET_IFNAME",
                                                          "NCCL_SOCKET_IFNAME"});

/// Names of files, kept to the byte: another spelling would be another file.
constexpr auto kWantedPaths = std::to_array<std::string_view>(
    {"HOME", "XDG_CACHE_HOME", "TORCH_FR_DUMP_TEMP_FILE", "TORCH_NCCL_DEBUG_INFO_TEMP_FILE",
     "TORCH_NCCL_DEBUG_INFO_PIPE_FILE"});
constexpr std::size_t kLongestPath = 4096;

template <typename T>
std::optional<T> parse_number(std::string_view text, int base = 10) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (error != std::errc() || end != text.data() + text.size() || text.empty()) return std::nullopt;
  return value;
}

template <typename Take>
void split(std::string_view text, std::string_view ends, Take take) {
  while (!text.empty()) {
    const std::size_t end = text.find_first_of(ends);
    if (end != 0) take(text.substr(0, end));
    if (end == std::string_view::npos) return;
    text.remove_prefix(end + 1);
  }
}

/// "0100007F:6D60": words of the host's byte order.
bool parse_end(std::string_view text, std::string& address, int& port) {
  const std::size_t colon = text.find(':');
  if (colon != 8 && colon != 32) return false;
  std::array<unsigned char, 16> bytes{};
  for (std::size_t i = 0; i < colon; i += 8) {
    const auto word = parse_number<std::uint32_t>(text.substr(i, 8), 16);
    if (!word) return false;
    std::memcpy(bytes.data() + i / 2, &*word, sizeof *word);
  }
  const auto number = parse_number<int>(text.substr(colon + 1), 16);
  if (!number) return false;
  address = address_text(bytes.data(), colon / 2);
  port = *number;
  return true;
}

bool matters(std::string_view path) {
  static constexpr auto kParts =
      std::to_array<std::string_view>({"/libtorch", "/libc10", "/libnccl", "/librccl", "/libgloo",
                                       "/libmpi.so", "/torch/", "/dev/shm/nccl-"});
  return std::any_of(kParts.begin(), kParts.end(), [&](std::string_view part) {
    return path.find(part) != std::string_view::npos;
  });
}

}  // namespace

std::optional<Stat> parse_stat(std::string_view text) {
  // The name may hold blanks and parentheses; it ends with the last one.
  const std::size_t open = text.find('(');
  const std::size_t close = text.rfind(')');
  if (open == std::string_view::npos || close == std::string_view::npos || close < open) {
    return std::nullopt;
  }
  const auto fields = words_of(text.substr(close + 1));  // fields[0] is number 3
  if (fields.size() < 20 || fields[0].size() != 1) return std::nullopt;
  const auto parent = parse_number<int>(fields[1]);
  const auto flags = parse_number<unsigned>(fields[6]);
  const auto user = parse_number<std::uint64_t>(fields[11]);
  const auto kernel = parse_number<std::uint64_t>(fields[12]);
  const auto start = parse_number<std::uint64_t>(fields[19]);
  if (!parent || !flags || !user || !kernel || !start) return std::nullopt;
  Stat stat;
  stat.name = printable(text.substr(open + 1, close - open - 1), 32);
  stat.state = fields[0][0];
  stat.parent = *parent;
  stat.start_ticks = *start;
  stat.cpu_ticks = *user + *kernel;
  stat.kernel_thread = (*flags & kKernelThread) != 0;
  return stat;
}

Environment parse_environment(std::string_view bytes) {
  Environment found;
  split(bytes, std::string_view("\0", 1), [&](std::string_view variable) {
    const std::size_t equals = variable.find('=');
    if (equals == std::string_view::npos) return;
    const std::string_view name = variable.substr(0, equals);
    const std::string_view value = variable.substr(equals + 1);
    // getenv() finds the first of two.
    if (std::find(kWanted.begin(), kWanted.end(), name) != kWanted.end()) {
      found.try_emplace(std::string(name), printable(value, kLongestValue));
    } else if (std::find(kWantedPaths.begin(), kWantedPaths.end(), name) != kWantedPaths.end() &&
               value.size() <= kLongestPath) {
      found.try_emplace(std::string(name), value);
    }
  });
  return found;
}

std::vector<std::string> parse_command_line(std::string_view bytes) {
  std::vector<std::string> arguments;
  split(bytes, std::string_view("\0", 1),
        [&](std::string_view word) { arguments.push_back(printable(word, kLongestValue)); });
  return arguments;
}

std::vector<std::string> training_files(std::string_view maps) {
  std::vector<std::string> files;
  std::set<std::string_view> seen;
  split(maps, "\n", [&](std::string_view line) {
    const std::size_t path = line.find('/');
    if (path == std::string_view::npos) return;
    const std::string_view file = line.substr(path);
    if (!matters(file) || !seen.insert(file).second) return;
    files.push_back(printable(file, 4096));
  });
  return files;
}

int inner_pid(std::string_view status) {
  for (const std::string_view line : lines_of(status)) {
    if (line.substr(0, 6) != "NSpid:") continue;
    const auto pids = words_of(line.substr(6));
    return pids.empty() ? 0 : whole_number(pids.back()).value_or(0);
  }
  return 0;
}

std::optional<unsigned> file_user(std::string_view status) {
  for (const std::string_view line : lines_of(status)) {
    if (line.substr(0, 4) != "Uid:") continue;
    const auto users = words_of(line.substr(4));
    return users.size() == 4 ? parse_number<unsigned>(users[3]) : std::nullopt;
  }
  return std::nullopt;
}

std::string address_text(const unsigned char* bytes, std::size_t length) {
  static constexpr std::array<unsigned char, 12> kMapped = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 255, 255};
  std::array<char, INET6_ADDRSTRLEN> text{};
  if (length == 16 && std::memcmp(bytes, kMapped.data(), kMapped.size()) == 0) {
    bytes += kMapped.size();
    length = 4;
  }
  inet_ntop(length == 4 ? AF_INET : AF_INET6, bytes, text.data(), text.size());
  return text.data();
}

std::vector<TcpSocket> parse_tcp(std::string_view text) {
  std::vector<TcpSocket> sockets;
  split(text, "\n", [&](std::string_view line) {
    const auto fields = words_of(line);
    if (fields.size() < 10) return;
    TcpSocket socket;
    socket.listening = fields[3] == kListen;
    if (!socket.listening && fields[3] != kEstablished) return;
    const auto inode = parse_number<std::uint64_t>(fields[9]);
    if (!inode || *inode == 0) return;
    socket.inode = *inode;
    if (parse_end(fields[1], socket.local, socket.local_port) &&
        parse_end(fields[2], socket.remote, socket.remote_port)) {
      sockets.push_back(std::move(socket));
    }
  });
  return sockets;
}

std::string driver_version(std::string_view text) {
  const std::size_t line_end = text.find('\n');
  for (const std::string_view word : words_of(text.substr(0, line_end))) {
    const bool is_version = word.size() <= 32 && word.find('.') != std::string_view::npos &&
                            word.find_first_not_of("0123456789.") == std::string_view::npos;
    if (is_version) return std::string(word);
  }
  return "";
}

std::vector<std::string> parse_interfaces(std::string_view net_dev) {
  std::vector<std::string> names;
  for (const std::string_view line : lines_of(net_dev)) {
    const auto words = words_of(line);
    if (words.empty() || line.find('|') != std::string_view::npos) continue;
    const std::size_t colon = words[0].find(':');
    if (colon != std::string_view::npos) names.push_back(printable(words[0].substr(0, colon), 32));
  }
  return names;
}

LocalAddresses::LocalAddresses(std::string_view route, std::string_view if_inet6) {
  for (const std::string_view line : lines_of(route)) {
    const auto fields = words_of(line);
    if (fields.size() < 8) continue;
    const auto net = parse_number<std::uint32_t>(fields[1], 16);
    const auto gateway = parse_number<std::uint32_t>(fields[2], 16);
    const auto mask = parse_number<std::uint32_t>(fields[7], 16);
    // Only a net that an interface is in tells whose an address is.
    if (!net || !mask || *mask == 0 || !gateway || *gateway != 0) continue;
    nets_.push_back({*net, *mask, printable(fields[0], 32)});
  }
  std::stable_sort(nets_.begin(), nets_.end(),
                   [](const Net& a, const Net& b) { return ntohl(a.mask) > ntohl(b.mask); });
  for (const std::string_view line : lines_of(if_inet6)) {
    const auto fields = words_of(line);
    if (fields.size() < 6 || fields[0].size() != 32) continue;
    std::array<unsigned char, 16> bytes{};
    bool whole = true;
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      const auto byte = parse_number<unsigned>(fields[0].substr(i * 2, 2), 16);
      whole = whole && byte.has_value();
      bytes[i] = static_cast<unsigned char>(byte.value_or(0));
    }
    if (whole) exact_[address_text(bytes.data(), bytes.size())] = printable(fields[5], 32);
  }
}

std::string LocalAddresses::interface_of(const std::string& address) const {
  const auto found = exact_.find(address);
  if (found != exact_.end()) return found->second;
  if (is_loopback(address)) return "lo";
  in_addr number{};
  if (inet_pton(AF_INET, address.c_str(), &number) != 1) return "";
  for (const Net& net : nets_) {
    if ((number.s_addr & net.mask) == net.net) return net.interface;
  }
  return "";
}

bool is_loopback(std::string_view address) {
  return address.substr(0, 4) == "127." || address == "::1";
}

std::string loopback_of_name(std::string_view hosts, std::string_view name) {
  if (name.empty()) return "";
  for (const std::string_view line : lines_of(hosts)) {
    const auto words = words_of(line.substr(0, line.find('#')));
    if (words.size() < 2 || std::find(words.begin() + 1, words.end(), name) == words.end())
      continue;
    return is_loopback(words[0]) ? printable(words[0], 64) : "";
  }
  return "";
}

std::string printable(std::string_view text, std::size_t limit) {
  std::string out(text.substr(0, limit));
  for (char& c : out) {
    if (c < ' ' || c > '~') c = '?';
  }
  return out;
}

std::optional<int> whole_number(std::string_view text) {
  if (text.size() > 9 || text.find_first_not_of("0123456789") != std::string_view::npos) {
    return std::nullopt;
  }
  return parse_number<int>(text);
}

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  split(text, "\n", [&](std::string_view line) { lines.push_back(line); });
  return lines;
}

std::vector<std::string_view> words_of(std::string_view text) {
  std::vector<std::string_view> words;
  split(text, " \t\r\n", [&](std::string_view word) { words.push_back(word); });
  return words;
}

}  // namespace collwatch::processes
