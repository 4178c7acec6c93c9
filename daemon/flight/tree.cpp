// SPDX-License-Identifier: Apache-2.0
//
// Adding within limits, reading with types checked.
#include "daemon/flight/tree.h"

#include <charconv>

namespace collwatch::flight {

NodeId Tree::add(Node node) {
  if (nodes_.size() >= kMostNodes) return kFull;
  nodes_.push_back(node);
  return static_cast<NodeId>(nodes_.size() - 1);
}

NodeId Tree::add_real(double value) {
  Node node(Kind::real, 0);
  node.real = value;
  return add(node);
}

NodeId Tree::add_text(std::size_t offset, std::size_t length) {
  Node node(Kind::text, 0);
  node.text = {static_cast<std::uint32_t>(offset), static_cast<std::uint32_t>(length)};
  return add(node);
}

NodeId Tree::append_text(std::string_view text) {
  const std::size_t offset = bytes_.size();
  bytes_.append(text);
  return add_text(offset, text.size());
}

NodeId Tree::add_container(Kind kind) {
  if (containers_.size() >= kMostContainers) return kFull;
  Node node(kind, 0);
  node.container = static_cast<std::uint32_t>(containers_.size());
  const NodeId id = add(node);
  if (id != kFull) containers_.emplace_back();
  return id;
}

bool Tree::append(NodeId container, NodeId child) {
  if (child_count_ >= kMostChildren) return false;
  ++child_count_;
  containers_[nodes_[container].container].push_back(child);
  return true;
}

std::optional<std::int64_t> Tree::integer(NodeId node) const {
  const Node& one = nodes_[node];
  if (one.kind == Kind::integer || one.kind == Kind::boolean) return one.integer;
  if (one.kind != Kind::text) return std::nullopt;
  const std::string_view digits = text(node);
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
  return value;
}

std::string_view Tree::text(NodeId node) const {
  const Node& one = nodes_[node];
  if (one.kind != Kind::text) return {};
  return std::string_view(bytes_).substr(one.text.offset, one.text.length);
}

const std::vector<NodeId>& Tree::children(NodeId node) const {
  static const std::vector<NodeId> kNone;
  const Node& one = nodes_[node];
  if (one.kind != Kind::list && one.kind != Kind::map) return kNone;
  return containers_[one.container];
}

std::optional<NodeId> Tree::at(NodeId map, std::string_view key) const {
  if (kind(map) != Kind::map) return std::nullopt;
  const std::vector<NodeId>& pairs = children(map);
  for (std::size_t i = pairs.size(); i >= 2; i -= 2) {
    if (kind(pairs[i - 2]) == Kind::text && text(pairs[i - 2]) == key) return pairs[i - 1];
  }
  return std::nullopt;
}

}  // namespace collwatch::flight
