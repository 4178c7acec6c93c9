// SPDX-License-Identifier: Apache-2.0
//
// Gloo and NCCL listen on ports that the system picks and dial from such, so both ends of their
// connections are above the same mark; a data base or a web server has one end below it.
#include "daemon/processes/connections.h"

#include <algorithm>

namespace collwatch::processes {
namespace {

constexpr std::size_t kMostPeers = 64;
/// Where NCCL answers questions about itself, from 2.24 on: whoever listens here has a
/// communicator.
constexpr int kNcclStatusPort = 28028;

Connections::Kind kind_of(const TcpSocket& socket, const Process& process, const Network& network,
                          const SocketIndex& index, const std::set<std::uint64_t>& of_ranks) {
  const int master = process.identity.master_port;
  if (master != 0 && (socket.remote_port == master || socket.local_port == master)) {
    return Connections::Kind::store;
  }
  const TcpSocket* const other = index.other_end(socket);
  if (other != nullptr) {
    // Its other end is here, so it is known whose that is.
    return of_ranks.contains(other->inode) ? Connections::Kind::ranks : Connections::Kind::other;
  }
  const bool dynamic = socket.local_port >= network.first_dynamic_port &&
                       socket.remote_port >= network.first_dynamic_port;
  return dynamic ? Connections::Kind::ranks : Connections::Kind::other;
}

}  // namespace

SocketIndex::SocketIndex(const Network& network) {
  for (const TcpSocket& socket : network.sockets) {
    by_inode_[socket.inode] = &socket;
    if (socket.listening) continue;
    by_ends_[{socket.local, socket.local_port, socket.remote, socket.remote_port}] = &socket;
  }
}

const TcpSocket* SocketIndex::of_inode(std::uint64_t inode) const {
  const auto found = by_inode_.find(inode);
  return found == by_inode_.end() ? nullptr : found->second;
}

const TcpSocket* SocketIndex::other_end(const TcpSocket& socket) const {
  const auto found =
      by_ends_.find({socket.remote, socket.remote_port, socket.local, socket.local_port});
  return found == by_ends_.end() ? nullptr : found->second;
}

void show_connections(Process& process, const std::vector<std::uint64_t>& sockets,
                      const Network& network, const SocketIndex& index,
                      const std::set<std::uint64_t>& of_ranks,
                      const std::map<std::uint64_t, std::uint64_t>* before,
                      std::map<std::uint64_t, std::uint64_t>& after) {
  std::map<std::pair<Connections::Kind, std::string>, Connections> grouped;
  for (const std::uint64_t inode : sockets) {
    const TcpSocket* const socket = index.of_inode(inode);
    if (socket == nullptr) continue;
    if (socket->listening) {
      if (process.listeners.size() < kMostPeers) {
        process.listeners.emplace_back(socket->local, socket->local_port);
      }
      process.nccl_signs = process.nccl_signs || socket->local_port == kNcclStatusPort;
      if (is_loopback(socket->local) && socket->local_port >= network.first_dynamic_port) {
        process.loopback_listeners.push_back(socket->local + ":" +
                                             std::to_string(socket->local_port));
      }
      continue;
    }
    if (socket->bytes) after[inode] = *socket->bytes;
    const auto kind = kind_of(*socket, process, network, index, of_ranks);
    if (grouped.size() >= kMostPeers && !grouped.contains({kind, socket->remote})) continue;
    Connections& peer = grouped[{kind, socket->remote}];
    peer.kind = kind;
    peer.peer = socket->remote;
    peer.interface = network.addresses.interface_of(socket->local);
    peer.here = is_loopback(socket->remote) || index.other_end(*socket) != nullptr;
    ++peer.count;
    if (before == nullptr || !socket->bytes) continue;
    const auto earlier = before->find(inode);
    const std::uint64_t begin = earlier == before->end() ? 0 : earlier->second;
    peer.bytes = peer.bytes.value_or(0) + (*socket->bytes - std::min(begin, *socket->bytes));
  }
  for (auto& [key, peer] : grouped) {
    if (peer.kind == Connections::Kind::ranks && peer.bytes) {
      process.moved = process.moved.value_or(0) + *peer.bytes;
    }
    process.connections.push_back(std::move(peer));
  }
}

}  // namespace collwatch::processes
