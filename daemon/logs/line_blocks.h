// SPDX-License-Identifier: Apache-2.0
//
// Bytes cut into blocks of whole lines, cleaned of terminal colours, in one buffer of fixed size. A
// line longer than the buffer comes in pieces. Used by the log engine.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "daemon/logs/bytes.h"

namespace collwatch::logs {

struct Block {
  std::string_view text;  ///< valid until the next call
  bool ends_line = true;  ///< false: the last line goes on in the next block
  bool is_last = false;
};

class LineBlocks {
 public:
  static constexpr std::size_t kDefaultSize = std::size_t{1} << 18;

  explicit LineBlocks(std::unique_ptr<Bytes> bytes, std::size_t size = kDefaultSize);

  /// The next lines; an empty text that is_last when there are none.
  model::Result<Block> next();

  long bytes_read() const { return bytes_read_; }
  bool looks_binary() const { return looks_binary_; }
  std::string damage() const { return bytes_->damage(); }

 private:
  model::Result<void> fill();
  std::size_t cut() const;

  std::unique_ptr<Bytes> bytes_;
  std::string buffer_;
  std::size_t used_ = 0;   ///< bytes of the buffer that hold text
  std::size_t given_ = 0;  ///< bytes at its front that the caller has had
  long bytes_read_ = 0;
  bool at_end_ = false;
  bool looks_binary_ = false;
};

/// Removes terminal escape sequences in place and returns the new length. Text without an escape
/// byte is not touched.
std::size_t strip_escapes(char* text, std::size_t size);

/// Escape sequences out, JSON records flat (flatten_json.h): in place, the new length. Never
/// longer, and never another number of lines.
std::size_t clean(char* text, std::size_t size);

/// Text that is fit for JSON and terminals: invalid UTF-8 and control characters replaced, length
/// bounded.
std::string printable(std::string_view text, std::size_t most = 400);

}  // namespace collwatch::logs
