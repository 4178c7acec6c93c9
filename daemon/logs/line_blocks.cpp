// SPDX-License-Identifier: Apache-2.0
//
// Reading in blocks, and what is done to text before anybody looks at it.
#include "daemon/logs/line_blocks.h"

#include <algorithm>
#include <cstring>

#include "daemon/logs/flatten_json.h"
#include "daemon/logs/shown.h"

namespace collwatch::logs {
namespace {

constexpr char kEscape = '\x1b';

/// The end of the escape sequence that begins at `at`, or at most 64 bytes on: a lone escape byte
/// must not swallow the log.
std::size_t end_of_escape(const char* text, std::size_t at, std::size_t size) {
  const std::size_t limit = std::min(size, at + 64);
  std::size_t i = at + 1;
  if (i >= limit) return i;
  if (text[i] == '[') {  // colours, cursor: parameters, then one letter
    for (++i; i < limit; ++i) {
      if (text[i] >= 0x40 && text[i] <= 0x7e) return i + 1;
      if (text[i] < 0x20) return i;
    }
    return at + 2;
  }
  if (text[i] == ']') {  // titles and links: up to BEL or ESC backslash
    for (++i; i < limit; ++i) {
      if (text[i] == '\x07') return i + 1;
      if (text[i] == kEscape) return std::min(i + 2, size);
      if (text[i] == '\n') return i;
    }
    return at + 2;
  }
  return text[i] == '\n' ? i : i + 1;
}

}  // namespace

std::size_t strip_escapes(char* text, std::size_t size) {
  const void* first = std::memchr(text, kEscape, size);
  if (first == nullptr) return size;
  std::size_t out = static_cast<std::size_t>(static_cast<const char*>(first) - text);
  for (std::size_t in = out; in < size;) {
    if (text[in] == kEscape) {
      in = end_of_escape(text, in, size);
    } else {
      text[out++] = text[in++];
    }
  }
  return out;
}

std::string printable(std::string_view text, std::size_t most) {
  std::string out;
  out.reserve(std::min(text.size(), most) + 4);
  for (std::size_t i = 0; i < text.size();) {
    if (out.size() >= most) {
      out += "...";
      break;
    }
    const std::size_t length = utf8_length(text, i);
    if (length == 0) {
      out += "\xef\xbf\xbd";
      ++i;
      continue;
    }
    const char c = text[i];
    if (length == 1 && (static_cast<unsigned char>(c) < 0x20 || c == 0x7f)) {
      out += ' ';
    } else {
      out.append(text.substr(i, length));
    }
    i += length;
  }
  return out;
}

std::size_t clean(char* text, std::size_t size) {
  return flatten_json(text, strip_escapes(text, size));
}

LineBlocks::LineBlocks(std::unique_ptr<Bytes> bytes, std::size_t size)
    : bytes_(std::move(bytes)), buffer_(std::max<std::size_t>(size, 256), '\0') {}

model::Result<void> LineBlocks::fill() {
  std::memmove(buffer_.data(), buffer_.data() + given_, used_ - given_);
  used_ -= given_;
  given_ = 0;
  while (!at_end_ && used_ < buffer_.size()) {
    const auto got = bytes_->read(buffer_.data() + used_, buffer_.size() - used_);
    if (!got) return model::fail(got.error());
    at_end_ = *got == 0;
    if (bytes_read_ == 0 && *got > 0) {
      const std::size_t look = std::min<std::size_t>(*got, 4096);
      const auto zeros =
          std::count(buffer_.begin(), buffer_.begin() + static_cast<long>(look), '\0');
      looks_binary_ = static_cast<std::size_t>(zeros) * 50 > look;
    }
    bytes_read_ += static_cast<long>(*got);
    // A pipe gives what it has: waiting for a full buffer would only make us late, not wrong.
    if (used_ += *got;
        std::memchr(buffer_.data(), '\n', used_) != nullptr && used_ * 2 > buffer_.size()) {
      break;
    }
  }
  return {};
}

/// How much of the buffer is whole lines; where there is no line end, up to the last place at which
/// a progress bar or a word ends.
std::size_t LineBlocks::cut() const {
  const std::string_view text(buffer_.data(), used_);
  if (at_end_ && used_ < buffer_.size()) return used_;
  for (const char end : {'\n', '\r', ' '}) {
    const std::size_t at = text.rfind(end);
    if (at != std::string_view::npos) return at + 1;
  }
  return used_;
}

model::Result<Block> LineBlocks::next() {
  if (auto filled = fill(); !filled) return model::fail(filled.error());
  Block block;
  given_ = cut();
  block.is_last = at_end_ && given_ == used_;
  if (given_ == 0) return block;
  block.ends_line = buffer_[given_ - 1] == '\n';
  block.text = std::string_view(buffer_.data(), clean(buffer_.data(), given_));
  return block;
}

}  // namespace collwatch::logs
