// SPDX-License-Identifier: Apache-2.0
//
// Blocks: whole lines wherever there are any, whatever the size of the buffer; no colour, no
// swallowed text, and nothing that a terminal or JSON could trip over once it is printable.
#include "daemon/logs/line_blocks.h"

#include <algorithm>
#include <string>

#include "tests/support/catch.h"

using namespace collwatch;

namespace {

struct Read {
  std::string text;
  int blocks = 0;
  bool cut_a_line = false;  ///< some block before the last did not end with a line
  std::size_t largest = 0;
};

Read read(const std::string& bytes, std::size_t size) {
  logs::LineBlocks blocks(logs::bytes_of(bytes), size);
  Read all;
  for (;;) {
    const auto block = blocks.next();
    REQUIRE(block.has_value());
    all.text += block->text;
    all.largest = std::max(all.largest, block->text.size());
    ++all.blocks;
    CHECK(block->ends_line == (block->text.empty() || block->text.back() == '\n'));
    if (block->is_last) break;
    all.cut_a_line = all.cut_a_line || !block->ends_line;
  }
  CHECK(blocks.bytes_read() == static_cast<long>(bytes.size()));
  return all;
}

std::string stripped(std::string text) {
  text.resize(logs::strip_escapes(text.data(), text.size()));
  return text;
}

}  // namespace

TEST_CASE("every byte comes out once, in whole lines, for any size of the buffer") {
  std::string text;
  for (int i = 0; i < 500; ++i) text += std::string(static_cast<std::size_t>(i % 90), 'x') + "\n";
  for (const std::size_t size : {256, 257, 300, 1000, 4096, 1 << 18}) {
    const Read all = read(text, size);
    CHECK(all.text == text);
    CHECK_FALSE(all.cut_a_line);
  }
  CHECK(read("", 256).text.empty());
  CHECK(read("no newline", 256).text == "no newline");
  CHECK(read("\n", 256).text == "\n");
  CHECK(read("\r\n\r\n", 256).text == "\r\n\r\n");
}

TEST_CASE("a line of megabytes comes in pieces that fit the buffer") {
  const std::string text = "first\n" + std::string(5 << 20, 'y') + "\nlast\n";
  const Read all = read(text, 1 << 16);
  CHECK(all.text == text);
  CHECK(all.largest <= 1 << 16);
  CHECK(all.blocks > 80);
}

TEST_CASE("a long line is cut where a progress bar or a word ends") {
  std::string bar;
  for (int i = 0; i < 100; ++i) bar += "\r " + std::to_string(i) + "%|###  | it/s";
  logs::LineBlocks blocks(logs::bytes_of(bar), 256);
  const auto block = blocks.next();
  REQUIRE(block.has_value());
  CHECK(block->text.back() == '\r');
  CHECK_FALSE(block->ends_line);
}

TEST_CASE("colours, cursor moves, titles and links go, text stays") {
  CHECK(stripped("plain") == "plain");
  CHECK(stripped("\x1b[31mred\x1b[0m text") == "red text");
  CHECK(stripped("\x1b[1;38;5;196mred\x1b[K\x1b[2J!") == "red!");
  CHECK(stripped("\x1b]0;a title\x07text") == "text");
  CHECK(stripped("\x1b]8;;http://example.com\x1b\\link\x1b]8;;\x1b\\") == "link");
  CHECK(stripped("\x1b(Bx\x1b=y") == "Bxy");
}

TEST_CASE("an escape byte alone, or a sequence that never ends, does not swallow the log") {
  CHECK(stripped("a\x1b") == "a");
  CHECK(stripped("a\x1b\nb") == "a\nb");
  CHECK(stripped("a\x1b[31\nError: b") == "a\nError: b");
  CHECK(stripped("a\x1b]0;title\nError: b") == "a\nError: b");
  const std::string endless = "\x1b[" + std::string(500, ';') + "\nError: b";
  CHECK(stripped(endless).find("\nError: b") != std::string::npos);
}

TEST_CASE("a colour that lies across two blocks is the one thing that may show") {
  // The newline before it keeps lines whole, so only a line longer than the buffer can be cut in
  // it.
  std::string text;
  for (int i = 0; i < 200; ++i) text += "\x1b[32mline " + std::to_string(i) + "\x1b[0m\n";
  const Read all = read(text, 256);
  CHECK(all.text.find('\x1b') == std::string::npos);
  CHECK(all.text.find("[32m") == std::string::npos);
  CHECK(std::count(all.text.begin(), all.text.end(), '\n') == 200);
}

TEST_CASE("what is printable is UTF-8 without control characters, and short") {
  using logs::printable;
  CHECK(printable("plain") == "plain");
  CHECK(printable("tab\there\x01\x7f") == "tab here  ");
  CHECK(printable("gr\xc3\xbc\xc3\x9f \xe2\x82\xac \xf0\x9f\x94\xa5") ==
        "gr\xc3\xbc\xc3\x9f \xe2\x82\xac \xf0\x9f\x94\xa5");
  const std::string bad = "\xef\xbf\xbd";
  CHECK(printable("\xff") == bad);
  CHECK(printable("\xc3(") == bad + "(");               // not continued
  CHECK(printable("\xc0\xaf") == bad + bad);            // overlong
  CHECK(printable("\xe0\x80\xaf") == bad + bad + bad);  // likewise
  CHECK(printable("\xed\xa0\x80") == bad + bad + bad);  // half of a pair
  CHECK(printable("\xf5\x80\x80\x80").find('\xf5') == std::string::npos);
  CHECK(printable("cut \xe2\x82") == "cut " + bad + bad);
  const std::string cut = printable(std::string(1000, 'x'), 40);
  CHECK(cut == std::string(40, 'x') + "...");
}

TEST_CASE("binary files are recognised by their zeros, logs with a few are not") {
  logs::LineBlocks binary(logs::bytes_of(std::string(4096, '\0')));
  REQUIRE(binary.next().has_value());
  CHECK(binary.looks_binary());
  // A node that lost power leaves a hole of zeros in its log.
  std::string text;
  while (text.size() < 8192) text += "an ordinary line\n";
  text.replace(100, 20, std::string(20, '\0'));
  logs::LineBlocks log(logs::bytes_of(text));
  REQUIRE(log.next().has_value());
  CHECK_FALSE(log.looks_binary());
}
