// SPDX-License-Identifier: Apache-2.0
//
// The restricted unpickler: what plain values need and nothing else, whatever the bytes.
#include "daemon/flight/unpickle.h"

#include <array>
#include <string>

#include "tests/support/catch.h"
#include "tests/support/flight_dumps.h"

using namespace collwatch;
using namespace std::string_literals;
using flight::Kind;

namespace {

std::string error_of(const std::string& bytes) {
  const auto tree = flight::unpickle(bytes);
  return tree ? "read" : tree.error().text;
}

}  // namespace

TEST_CASE("unpickle: values of every kind, as c10 writes them") {
  const nlohmann::ordered_json value = {{"none", nullptr},   {"yes", true},
                                        {"small", 7},        {"two", 65535},
                                        {"four", -70000},    {"eight", 1796068990308429122},
                                        {"real", 1.5},       {"text", "nccl:send 1->2"},
                                        {"list", {1, 2, 3}}, {"again", "nccl:send 1->2"},
                                        {"empty", ""}};
  const auto tree = flight::unpickle(test::pickled(value));
  REQUIRE(tree);
  const flight::NodeId root = tree->root();
  const auto at = [&](const char* key) { return *tree->at(root, key); };
  CHECK(tree->kind(at("none")) == Kind::none);
  CHECK(tree->integer(at("yes")) == 1);
  CHECK(tree->integer(at("small")) == 7);
  CHECK(tree->integer(at("two")) == 65535);
  CHECK(tree->integer(at("four")) == -70000);
  CHECK(tree->integer(at("eight")) == 1796068990308429122);
  CHECK(tree->kind(at("real")) == Kind::real);
  CHECK(tree->text(at("text")) == "nccl:send 1->2");
  CHECK(tree->text(at("again")) == "nccl:send 1->2");
  CHECK(tree->children(at("list")).size() == 3);
  CHECK(tree->text(at("empty")).empty());
  CHECK_FALSE(tree->at(root, "missing"));
  CHECK_FALSE(tree->integer(at("text")));
}

TEST_CASE("unpickle: tuples, frames and memos of the newer protocols") {
  // protocol 4: FRAME, SHORT_BINUNICODE, MEMOIZE, TUPLE2, BINGET
  const auto tree =
      flight::unpickle("\x80\x04\x95\x0f\0\0\0\0\0\0\0\x8c\x01"s + "a\x94h\0\x86\x94h\x01\x86."s);
  REQUIRE(tree);
  const auto& outer = tree->children(tree->root());
  REQUIRE(outer.size() == 2);
  CHECK(tree->text(tree->children(outer[0])[1]) == "a");
  CHECK(outer[1] == outer[0]);
}

TEST_CASE("unpickle: what would load or run code is refused by name and place") {
  struct Row {
    std::string body, name;
  };
  const std::array<Row, 14> rows = {{{"cos\nsystem\n(S'id'\ntR", "GLOBAL"},
                                     {"\x8c\x02os\x8c\x06system\x93", "STACK_GLOBAL"},
                                     {"}R", "REDUCE"},
                                     {"}b", "BUILD"},
                                     {"(ios\nsystem\n", "INST"},
                                     {"(o", "OBJ"},
                                     {"}\x81", "NEWOBJ"},
                                     {"}\x92", "NEWOBJ_EX"},
                                     {"P1\n", "PERSID"},
                                     {"NQ", "BINPERSID"},
                                     {"\x82\x01", "EXT1"},
                                     {"\x83\x01\x01", "EXT2"},
                                     {"\x84\x01\x01\x01\x01", "EXT4"},
                                     {"\x97", "NEXT_BUFFER"}}};
  for (const Row& row : rows) {
    const std::string error = error_of("\x80\x04}0" + row.body + ".");
    INFO(error);
    CHECK(error.find("opcode " + row.name + " would make the reader load or run code") !=
          std::string::npos);
    CHECK(error.rfind("byte ", 0) == 0);
  }
  CHECK(error_of("\x80\x02"
                 "cos\nsystem\n.")
            .rfind("byte 2: opcode GLOBAL", 0) == 0);
}

TEST_CASE("unpickle: broken bytes end with a sentence and a place") {
  CHECK(error_of("") == "byte 0: the pickle ends early");
  CHECK(error_of("\x80\x02}") == "byte 3: the pickle ends early");
  CHECK(error_of("\x80\x02X\xff\xff\xff\xff...") == "byte 2: the pickle ends early");
  CHECK(error_of("\x80\x09N.") == "byte 0: protocol 9 is not known");
  CHECK(error_of("\x80\x02\xfeN.") == "byte 2: opcode 0xfe has no place in a dump");
  CHECK(error_of("\x80\x02NN.") == "byte 4: values are left over at the end");
  CHECK(error_of("\x80\x02N.N") == "byte 4: something follows the end of the pickle");
  CHECK(error_of("\x80\x02Na.") == "byte 3: something is added to what is neither list nor map");
  CHECK(error_of("\x80\x02}Ns.") == "byte 4: something is added to what is neither list nor map");
  CHECK(error_of("\x80\x02}(Nu.") == "byte 5: a key without a value");
  CHECK(error_of("\x80\x02h\x05.") == "byte 2: refers to what was not put down: 5");
  CHECK(error_of("\x80\x02"
                 "e.") == "byte 2: the pickle ends a list that it did not begin");
  CHECK(error_of("\x80\x02]r\xff\xff\xff\xff.") == "byte 3: more values than any dump has");
  CHECK(error_of("\x80\x02](" + std::string(2000, '(') + ".").find("nested deeper than 1000") !=
        std::string::npos);
}

TEST_CASE("unpickle: every beginning of a dump is an error, none is a crash") {
  test::Recorder rank(0, test::Recorder::Manner::nccl);
  rank.group("0", "default_pg", {0, 1});
  rank.all_reduce("0");
  const std::string whole = rank.pickle();
  REQUIRE(flight::unpickle(whole));
  for (std::size_t length = 0; length < whole.size(); ++length)
    CHECK_FALSE(flight::unpickle(whole.substr(0, length)));
}

TEST_CASE("unpickle: bombs cost no more than their bytes") {
  // Each list holds the one before it twice: 2^60 leaves in 300 bytes.
  std::string doubling = "\x80\x02]";
  for (int i = 0; i < 60; ++i) {
    doubling += 'q';
    doubling += static_cast<char>(i);
    doubling += std::string("](h") + static_cast<char>(i) + "h" + static_cast<char>(i) + "e";
  }
  // Each new list lies on top of the old one: they are left over.
  CHECK(error_of(doubling + ".").find("left over") != std::string::npos);
  // A list that holds itself.
  const auto ring = flight::unpickle("\x80\x02]q\0h\0a."s);
  REQUIRE(ring);
  CHECK(ring->children(ring->root()).front() == ring->root());
  // More values than any dump has, of one byte each.
  CHECK(error_of("\x80\x02(" + std::string(flight::Tree::kMostNodes + 1, 'N') + "l.")
            .find("more values than any dump has") != std::string::npos);
  CHECK(error_of("\x80\x02(" + std::string(flight::Tree::kMostContainers + 1, ']') + "l.")
            .find("more values than any dump has") != std::string::npos);
  CHECK(error_of("\x80\x02(N" + std::string(flight::Tree::kMostChildren + 1, '2') + "l.")
            .find("more values than any dump has") != std::string::npos);
}
