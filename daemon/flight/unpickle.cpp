// SPDX-License-Identifier: Apache-2.0
//
// A stack machine with the opcodes that plain values need.
#include "daemon/flight/unpickle.h"

#include <array>
#include <cstdint>
#include <cstring>
#include <limits>
#include <utility>
#include <vector>

namespace collwatch::flight {
namespace {

constexpr std::size_t kMostMarks = 1000;
constexpr std::size_t kMostOnStack = Tree::kMostChildren;
constexpr std::size_t kMostMemos = Tree::kMostNodes;
constexpr unsigned kNewestProtocol = 5;

struct Named {
  char code;
  const char* name;
};

/// Everything that would run or fetch something.
constexpr std::array<Named, 16> kRefused = {{{'c', "GLOBAL"},
                                             {'\x93', "STACK_GLOBAL"},
                                             {'R', "REDUCE"},
                                             {'b', "BUILD"},
                                             {'i', "INST"},
                                             {'o', "OBJ"},
                                             {'\x81', "NEWOBJ"},
                                             {'\x92', "NEWOBJ_EX"},
                                             {'P', "PERSID"},
                                             {'Q', "BINPERSID"},
                                             {'\x82', "EXT1"},
                                             {'\x83', "EXT2"},
                                             {'\x84', "EXT4"},
                                             {'\x97', "NEXT_BUFFER"},
                                             {'\x98', "READONLY_BUFFER"},
                                             {'\x96', "BYTEARRAY8"}}};

std::string hex(unsigned char byte) {
  constexpr const char* kDigits = "0123456789abcdef";
  return std::string("0x") + kDigits[byte >> 4U] + kDigits[byte & 15U];
}

class Machine {
 public:
  explicit Machine(std::string bytes) : tree_(std::move(bytes)), bytes_(tree_.bytes()) {}

  model::Result<Tree> run() {
    if (bytes_.size() > std::numeric_limits<std::uint32_t>::max()) return failed("too large");
    while (problem_.empty() && !stopped_) {
      start_ = at_;
      if (at_ >= bytes_.size()) {
        problem_ = "the pickle ends early";
        break;
      }
      step(bytes_[at_++]);
    }
    if (problem_.empty() && at_ != bytes_.size()) {
      start_ = at_;
      problem_ = "something follows the end of the pickle";
    }
    if (!problem_.empty()) return failed(problem_);
    return std::move(tree_);
  }

 private:
  model::Result<Tree> failed(const std::string& text) const {
    return model::fail(model::ErrorCode::protocol, "byte " + std::to_string(start_) + ": " + text);
  }

  void step(char code) {
    if (!value(code) && !container(code) && !memo(code) && !stack(code)) refuse(code);
  }

  void refuse(char code) {
    for (const Named& one : kRefused) {
      if (one.code != code) continue;
      problem_ = std::string("opcode ") + one.name +
                 " would make the reader load or run code: refused, nothing of it was run";
      return;
    }
    problem_ = "opcode " + hex(static_cast<unsigned char>(code)) + " has no place in a dump";
  }

  bool value(char code) {
    switch (code) {
      case 'N':
        push(tree_.add_none());
        return true;
      case '\x88':
      case '\x89':
        push(tree_.add_boolean(code == '\x88'));
        return true;
      case 'K':
        integer(take_number(1));
        return true;
      case 'M':
        integer(take_number(2));
        return true;
      case 'J':
        integer(static_cast<std::int32_t>(take_number(4)));
        return true;
      case '\x8a':
        long_integer(take_number(1));
        return true;
      case '\x8b':
        long_integer(take_number(4));
        return true;
      case 'G':
        real();
        return true;
      case 'X':  // BINUNICODE
      case 'B':  // BINBYTES
      case 'T':  // BINSTRING
        text(take_number(4));
        return true;
      case '\x8c':  // SHORT_BINUNICODE
      case 'C':     // SHORT_BINBYTES
      case 'U':     // SHORT_BINSTRING
        text(take_number(1));
        return true;
      case '\x8d':  // BINUNICODE8
      case '\x8e':  // BINBYTES8
        text(take_number(8));
        return true;
      default:
        return false;
    }
  }

  bool container(char code) {
    switch (code) {
      case '}':
        push(tree_.add_map());
        return true;
      case ']':
      case ')':
        push(tree_.add_list());
        return true;
      case 'l':  // LIST
      case 't':  // TUPLE
        collect(tree_.add_list(), pop_mark());
        return true;
      case 'd':  // DICT
        collect(tree_.add_map(), pop_mark());
        return true;
      case '\x85':
      case '\x86':
      case '\x87':
        collect(tree_.add_list(), below(static_cast<std::size_t>(code - '\x84')));
        return true;
      case 'a':
        extend(Kind::list, below(1));
        return true;
      case 'e':
        extend(Kind::list, pop_mark());
        return true;
      case 's':
        extend(Kind::map, below(2));
        return true;
      case 'u':
        extend(Kind::map, pop_mark());
        return true;
      default:
        return false;
    }
  }

  bool memo(char code) {
    switch (code) {
      case 'q':
        remember(take_number(1));
        return true;
      case 'r':
        remember(take_number(4));
        return true;
      case '\x94':
        remember(memo_.size());
        return true;
      case 'h':
        recall(take_number(1));
        return true;
      case 'j':
        recall(take_number(4));
        return true;
      default:
        return false;
    }
  }

  bool stack(char code) {
    switch (code) {
      case '\x80':
        if (const std::uint64_t version = take_number(1); version < 2 || version > kNewestProtocol)
          problem_ = "protocol " + std::to_string(version) + " is not known";
        return true;
      case '\x95':  // FRAME: only a hint how much to read at once
        take_number(8);
        return true;
      case '(':
        if (marks_.size() >= kMostMarks) {
          problem_ = "nested deeper than " + std::to_string(kMostMarks);
        } else {
          marks_.push_back(stack_.size());
        }
        return true;
      case '0':
        if (!marks_.empty() && marks_.back() == stack_.size()) {
          marks_.pop_back();
        } else if (below(1); problem_.empty()) {
          stack_.pop_back();
        }
        return true;
      case '1':
        if (const std::size_t from = pop_mark(); problem_.empty()) stack_.resize(from);
        return true;
      case '2':
        if (below(1); problem_.empty()) push(stack_.back());
        return true;
      case '.':
        stopped_ = true;
        if (below(1); problem_.empty()) tree_.set_root(stack_.back());
        if (stack_.size() != 1 && problem_.empty()) problem_ = "values are left over at the end";
        return true;
      default:
        return false;
    }
  }

  /// Little-endian, as all counts and integers but the long ones are.
  std::uint64_t take_number(std::size_t width) {
    if (!has(width)) return 0;
    std::uint64_t number = 0;
    for (std::size_t i = 0; i < width; ++i) {
      number |= static_cast<std::uint64_t>(static_cast<unsigned char>(bytes_[at_ + i])) << (8 * i);
    }
    at_ += width;
    return number;
  }

  bool has(std::uint64_t count) {
    if (!problem_.empty()) return false;
    if (count <= bytes_.size() - at_) return true;
    problem_ = "the pickle ends early";
    return false;
  }

  void integer(std::uint64_t value) {
    if (problem_.empty()) push(tree_.add_integer(static_cast<std::int64_t>(value)));
  }
  void integer(std::int32_t value) {
    if (problem_.empty()) push(tree_.add_integer(value));
  }

  /// Two's complement of any width; what does not fit into 64 bits is of no use to us.
  void long_integer(std::uint64_t width) {
    if (!has(width)) return;
    if (width > 8) {
      at_ += width;
      push(tree_.add_none());
      return;
    }
    std::uint64_t number = take_number(static_cast<std::size_t>(width));
    const bool negative = width > 0 && (number >> (8 * width - 1)) != 0;
    if (negative && width < 8) number |= ~std::uint64_t{0} << (8 * width);
    push(tree_.add_integer(static_cast<std::int64_t>(number)));
  }

  void real() {
    if (!has(8)) return;
    std::uint64_t bits = 0;
    for (int i = 0; i < 8; ++i) bits = bits << 8U | static_cast<unsigned char>(bytes_[at_++]);
    double number = 0;
    std::memcpy(&number, &bits, sizeof number);
    push(tree_.add_real(number));
  }

  void text(std::uint64_t length) {
    if (!has(length)) return;
    push(tree_.add_text(at_, static_cast<std::size_t>(length)));
    at_ += static_cast<std::size_t>(length);
  }

  void push(NodeId node) {
    if (node == Tree::kFull || stack_.size() >= kMostOnStack) {
      problem_ = "more values than any dump has";
      return;
    }
    stack_.push_back(node);
  }

  /// Where the topmost `count` values begin, all of them above the last mark.
  std::size_t below(std::size_t count) {
    const std::size_t floor = marks_.empty() ? 0 : marks_.back();
    if (stack_.size() - floor >= count) return stack_.size() - count;
    if (problem_.empty()) problem_ = "the pickle takes more than it has put down";
    return stack_.size();
  }

  std::size_t pop_mark() {
    if (marks_.empty()) {
      if (problem_.empty()) problem_ = "the pickle ends a list that it did not begin";
      return stack_.size();
    }
    const std::size_t from = marks_.back();
    marks_.pop_back();
    return from;
  }

  void move_into(NodeId target, std::size_t from) {
    if (!problem_.empty()) return;
    if (tree_.kind(target) == Kind::map && (stack_.size() - from) % 2 != 0) {
      problem_ = "a key without a value";
      return;
    }
    for (std::size_t i = from; i < stack_.size(); ++i) {
      if (!tree_.append(target, stack_[i])) {
        problem_ = "more values than any dump has";
        return;
      }
    }
    stack_.resize(from);
  }

  void collect(NodeId target, std::size_t from) {
    if (target == Tree::kFull) {
      problem_ = "more values than any dump has";
      return;
    }
    move_into(target, from);
    if (problem_.empty()) push(target);
  }

  void extend(Kind kind, std::size_t from) {
    const std::size_t floor = marks_.empty() ? 0 : marks_.back();
    if (problem_.empty() && (from == floor || tree_.kind(stack_[from - 1]) != kind))
      problem_ = "something is added to what is neither list nor map";
    if (problem_.empty()) move_into(stack_[from - 1], from);
  }

  void remember(std::uint64_t index) {
    if (below(1); !problem_.empty()) return;
    if (index >= kMostMemos) {
      problem_ = "more values than any dump has";
      return;
    }
    if (index >= memo_.size()) memo_.resize(static_cast<std::size_t>(index) + 1, Tree::kFull);
    memo_[static_cast<std::size_t>(index)] = stack_.back();
  }

  void recall(std::uint64_t index) {
    if (!problem_.empty()) return;
    if (index >= memo_.size() || memo_[static_cast<std::size_t>(index)] == Tree::kFull) {
      problem_ = "refers to what was not put down: " + std::to_string(index);
      return;
    }
    push(memo_[static_cast<std::size_t>(index)]);
  }

  Tree tree_;
  std::string_view bytes_;
  std::size_t at_ = 0;
  std::size_t start_ = 0;  ///< of the opcode that is carried out
  std::vector<NodeId> stack_;
  std::vector<std::size_t> marks_;
  std::vector<NodeId> memo_;
  bool stopped_ = false;
  std::string problem_;
};

}  // namespace

model::Result<Tree> unpickle(std::string bytes) {
  return Machine(std::move(bytes)).run();
}

}  // namespace collwatch::flight
