// SPDX-License-Identifier: Apache-2.0
//
// What a dump holds before anybody knows that it is one: numbers, texts, lists and maps, in flat
// tables of bounded size. Nodes refer to each other by number, so a pickle that shares or encloses
// itself costs what it has in bytes and no more; whoever reads goes down by known keys. Built by
// unpickle() and read_json(), read by read_dump().
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace collwatch::flight {

enum class Kind : std::uint8_t { none, boolean, integer, real, text, list, map };

using NodeId = std::uint32_t;

class Tree {
 public:
  static constexpr std::size_t kMostNodes = std::size_t{4} << 20;
  static constexpr std::size_t kMostContainers = std::size_t{2} << 20;
  static constexpr std::size_t kMostChildren = std::size_t{16} << 20;
  static constexpr NodeId kFull = 0xffffffffU;  ///< what the builders give when there is no room

  explicit Tree(std::string bytes = {}) : bytes_(std::move(bytes)) {}

  NodeId add_none() { return add({Kind::none, 0}); }
  NodeId add_boolean(bool value) { return add_integer_as(Kind::boolean, value ? 1 : 0); }
  NodeId add_integer(std::int64_t value) { return add_integer_as(Kind::integer, value); }
  NodeId add_real(double value);
  /// A text that lies in bytes().
  NodeId add_text(std::size_t offset, std::size_t length);
  /// A text that is kept behind what is in bytes().
  NodeId append_text(std::string_view text);
  NodeId add_list() { return add_container(Kind::list); }
  NodeId add_map() { return add_container(Kind::map); }
  /// False where there is no room. Of a map: key and value in turn.
  bool append(NodeId container, NodeId child);

  Kind kind(NodeId node) const { return nodes_[node].kind; }
  std::optional<std::int64_t> integer(NodeId node) const;  ///< of booleans and digits in text, too
  std::string_view text(NodeId node) const;                ///< empty for all that is no text
  /// Of a list its values, of a map keys and values in turn, else nothing.
  const std::vector<NodeId>& children(NodeId node) const;
  /// The value of the last such key: as in Python, a later one replaces an earlier one.
  std::optional<NodeId> at(NodeId map, std::string_view key) const;

  std::string_view bytes() const { return bytes_; }
  NodeId root() const { return root_; }
  void set_root(NodeId root) { root_ = root; }

 private:
  struct Node {
    Kind kind = Kind::none;
    union {
      std::int64_t integer;
      double real;
      struct {
        std::uint32_t offset, length;
      } text;
      std::uint32_t container;
    };
    Node(Kind what, std::int64_t value) : kind(what), integer(value) {}
  };

  NodeId add(Node node);
  NodeId add_integer_as(Kind kind, std::int64_t value) { return add({kind, value}); }
  NodeId add_container(Kind kind);

  std::string bytes_;
  std::vector<Node> nodes_;
  std::vector<std::vector<NodeId>> containers_;
  std::size_t child_count_ = 0;
  NodeId root_ = 0;
};

}  // namespace collwatch::flight
