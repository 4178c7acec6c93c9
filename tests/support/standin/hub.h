// SPDX-License-Identifier: Apache-2.0
//
// The middle of a stand-in communicator: a thread in the process that made the unique id, to which
// every rank connects over loopback. It collects one request of every rank, works out what each is
// to receive, and answers; a rank that goes away is told to all others. Blocking sockets, no
// deadlines: like the real one it waits for ever for a rank that does not come.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace standin {

using Bytes = std::vector<char>;

enum class Kind : std::uint32_t { allreduce, allgather, reduce_scatter, broadcast, exchange };

struct Hello {
  std::uint32_t rank = 0;
  std::uint32_t ranks = 0;
  std::uint32_t version = 0;
  char bus[32] = {};
};

struct Answer {
  std::int32_t code = 0;
  char text[256] = {};
};

/// What one rank brings: for exchange, `ranks` equal parts, one for each receiver.
struct Request {
  Kind kind = Kind::allreduce;
  std::uint64_t bytes = 0;
};

bool read_all(int fd, void* to, std::size_t bytes);
bool write_all(int fd, const void* from, std::size_t bytes);

/// A listening port on loopback with a hub behind it; 0 if there is none to be had.
std::uint16_t start_hub();
int connect_to_hub(std::uint16_t port);

}  // namespace standin
