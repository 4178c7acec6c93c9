// SPDX-License-Identifier: Apache-2.0
//
// Reports of RAS, text and JSON, healthy, broken and impossible ones.
#include "daemon/ras/reader.h"

#include "tests/unit/ras/cases.h"

using namespace collwatch::ras;
using namespace ras_cases;

TEST_CASE("a healthy report has its communicators and nothing else") {
  const Report text = read_case("healthy_2.27.7.txt");
  CHECK(text.complete);
  CHECK(text.format == Report::Format::text);
  CHECK(text.version == "2.27.7");
  REQUIRE(text.groups.size() == 2);
  CHECK(text.groups[1].communicators == 2);
  CHECK(text.groups[1].size == 4);
  CHECK(text.groups[0].state == State::running);
  CHECK(text.communicators.empty());
  CHECK_FALSE(text.is_incomplete());

  const Report json = read_case("healthy_2.30.7.json");
  CHECK(json.complete);
  CHECK(json.format == Report::Format::json);
  CHECK(json.version == "2.30.7");
  REQUIRE(json.communicators.size() == 1);
  const Communicator& world = json.communicators[0];
  CHECK(world.hash == "ae94423cfbb2ef4a");
  CHECK(world.size == 8);
  CHECK(world.ranks.size() == 8);
  CHECK(world.state == State::running);
  CHECK_FALSE(world.mismatch);
  CHECK(world.errors.empty());
  REQUIRE(json.operations.size() == 5);
  CHECK(json.operations[4] == "AllReduce");
  CHECK(world.ranks[7].counts[4] == 1200);
  CHECK(json.host_of(world.ranks[7]) == "127.0.0.2");
  CHECK(world.ranks[7].pid == 30007);
  CHECK_FALSE(json.is_incomplete());
}

TEST_CASE("a rank that is behind is named with its count, in both formats") {
  for (const char* const name : {"lagging_2.28.9.txt", "lagging_2.30.7.json"}) {
    INFO(name);
    const Report report = read_case(name);
    CHECK(report.complete);
    REQUIRE(report.communicators.size() == 1);
    CHECK(report.communicators[0].mismatch);
    REQUIRE(report.communicators[0].differences.size() == 1);
    const Difference& difference = report.communicators[0].differences[0];
    CHECK(difference.operation == "AllReduce");
    CHECK(difference.usual == 1200);
    CHECK(difference.usual_ranks == 7);
    CHECK(difference.unnamed == 0);
    REQUIRE(difference.odd.size() == 1);
    CHECK(difference.odd[0].rank == 5);
    CHECK(difference.odd[0].count == 1199);
    const Rank* const rank = report.communicators[0].find(5);
    REQUIRE(rank != nullptr);
    CHECK(report.host_of(*rank) == "127.0.0.2");
    CHECK(rank->cuda_device == 1);
  }
}

TEST_CASE("errors and states of ranks, as text") {
  const Report report = read_case("abort_2.28.9.txt");
  CHECK(report.complete);
  REQUIRE(report.communicators.size() == 1);
  const Communicator& world = report.communicators[0];
  CHECK(world.state == State::abort);
  REQUIRE(world.errors.size() == 2);
  CHECK(world.errors[0].code == 6);
  CHECK(world.errors[0].count == 7);
  CHECK(world.errors[1].code == 2);
  CHECK(world.errors[1].ranks == std::vector<int>{3});
  REQUIRE(world.find(0) != nullptr);
  CHECK(world.find(0)->state == State::abort);
  CHECK(world.find(0)->pid == 11796);

  const Report init = read_case("init_error_2.28.9.txt");
  REQUIRE(init.communicators.size() == 1);
  REQUIRE(init.communicators[0].errors.size() == 1);
  CHECK(init.communicators[0].errors[0].at_init);
  CHECK(init.communicators[0].errors[0].ranks == std::vector<int>{2});
}

TEST_CASE("dead and missing ranks, in both formats") {
  const Report text = read_case("dead_2.30.7.txt");
  CHECK(text.complete);
  CHECK(text.is_incomplete());
  REQUIRE(text.lost.size() == 1);
  CHECK(text.lost[0].dead);
  CHECK(text.lost[0].pid == 31370);
  CHECK(text.lost[0].gpu == "1");
  REQUIRE(text.communicators.size() == 1);
  REQUIRE(text.communicators[0].find(5) != nullptr);
  CHECK(text.communicators[0].find(5)->presence == Presence::missing);
  CHECK(text.communicators[0].missing == 1);

  const Report json = read_case("dead_2.30.7.json");
  CHECK(json.is_incomplete());
  REQUIRE(json.communicators.size() == 2);
  REQUIRE(json.communicators[1].find(5) != nullptr);
  CHECK(json.communicators[1].find(5)->presence == Presence::dead);
  CHECK(read_case("missing_2.30.7.json").communicators[1].find(5)->presence ==
        Presence::unresponsive);
}

TEST_CASE("JSON with a comma too few, as NCCL 2.28.7 to 2.28.9 write it, says the same") {
  const std::string broken = text_of("missing_2.28.9.json");
  REQUIRE(broken.find("\"nvml_dev\": 1\n") != std::string::npos);
  const Report report = read_text(broken);
  CHECK(report.complete);
  CHECK(report.timeouts == 2);
  REQUIRE(report.communicators.size() == 2);
  CHECK(report.communicators[0].missing == 1);
  CHECK(report.communicators[0].find(1)->presence == Presence::unresponsive);
  CHECK(report.communicators[0].find(1)->nvml_device == 1);
}

TEST_CASE("what a server read out of memory that is not its own is dropped") {
  const Report report = read_case("stopped_2.28.9.txt");
  CHECK(report.complete);
  CHECK(report.is_incomplete());
  CHECK(report.dropped == 2);
  REQUIRE(report.groups.size() == 4);
  REQUIRE(report.communicators.size() == 1);
  CHECK(report.communicators[0].hash == "1b00000000000001");
  REQUIRE(report.lost.size() == 1);
  CHECK_FALSE(report.lost[0].dead);
  CHECK(report.lost[0].pid == 30758);
  CHECK(report.timeouts == 2);
}

TEST_CASE("what comes after a dropped communicator has ranks of its own") {
  const Report report = read_case("dropped_2.28.9.txt");
  REQUIRE(report.communicators.size() == 1);
  CHECK(report.communicators[0].hash == "ae94423cfbb2ef4a");
  REQUIRE(report.communicators[0].ranks.size() == 1);
  CHECK(report.communicators[0].ranks[0].rank == 5);
  CHECK(report.communicators[0].ranks[0].presence == Presence::missing);
}

TEST_CASE("a communicator that is being made hides no others, and rows of nothing are dropped") {
  const Report report = read_case("init_hides_2.30.7.json");
  CHECK(report.complete);
  CHECK(report.dropped == 1);
  REQUIRE(report.communicators.size() == 1);
  CHECK(report.communicators[0].state == State::init);
  CHECK(report.communicators[0].present == 3);
  CHECK(report.communicators[0].errors.empty());
}

TEST_CASE("the one counter of NCCL 2.24, and its missing rank without a place") {
  const Report report = read_case("one_counter_2.24.3.txt");
  REQUIRE(report.communicators.size() == 1);
  const Communicator& world = report.communicators[0];
  REQUIRE(world.differences.size() == 1);
  CHECK(world.differences[0].operation.empty());
  CHECK(world.differences[0].usual == 55);
  REQUIRE(world.differences[0].odd.size() == 1);
  CHECK(world.differences[0].odd[0].rank == 7);
  CHECK(world.differences[0].odd[0].count == 0);
  REQUIRE(world.find(21) != nullptr);
  CHECK(world.find(21)->presence == Presence::missing);
}

TEST_CASE("in whatever pieces it arrives, and nothing that is cut short is complete") {
  for (const char* const name : {"stopped_2.28.9.txt", "abort_2.28.9.txt", "missing_2.28.9.json"}) {
    INFO(name);
    const std::string text = text_of(name);
    const Report whole = read_text(text);
    const Report pieces = read_text(text, 1);
    CHECK(pieces.complete);
    CHECK(pieces.communicators.size() == whole.communicators.size());
    CHECK(pieces.lost.size() == whole.lost.size());
    CHECK(pieces.dropped == whole.dropped);
    // A text report ends where its last section may end, so only what comes before that is told.
    const std::size_t last = text[0] == '{' ? text.rfind('}') : text.find("Warnings");
    for (std::size_t size = 0; size < last; size += 37) {
      const Report cut = read_text(text.substr(0, size));
      CHECK_FALSE(cut.complete);
      CHECK_FALSE(cut.trouble.empty());
    }
  }
}

TEST_CASE("garbage is no report and says so") {
  CHECK(read_text("").trouble == "it is empty");
  CHECK(read_text("HTTP/1.1 400 Bad Request\r\n\r\n").trouble == "it is no report of NCCL");
  for (const char* const text :
       {"{", "{]", "{}", "{1}", "{\"a\" 1}", "{\"a\":}", "{\"communicators\": []} x",
        "{\"communicators\": [[[[[[[[[[[[[[[[[[[[[[[[", "{\"communicators\": [",
        "{:", "{,\"a\",:1}", "{\"communicators\": {}}"}) {
    INFO(text);
    CHECK_FALSE(read_text(text).complete);
  }
  CHECK(read_text("{\"communicators\": []}").complete);
  // Wrong types and unknown keys are passed over.
  const Report odd = read_text(
      R"({"communicators": [{"hash": 7, "size": "8", "ranks": [{"rank": "x", "pid": 1e9},)"
      R"({"rank": 0, "host": "a\nb\u00e9", "new": {"deep": [1, {"er": null}]}}]}], "z": [[]]})");
  CHECK(odd.complete);
  REQUIRE(odd.communicators.size() == 1);
  REQUIRE(odd.communicators[0].ranks.size() == 1);
  CHECK(odd.host_of(odd.communicators[0].ranks[0]) == "a b?");
}

TEST_CASE("no more than 64 MiB are looked at, no line is longer than 4 KiB, no name than 64") {
  const std::string head = text_of("healthy_2.27.7.txt");
  Reader reader;
  reader.add(head);
  const std::string line(std::size_t{1} << 20, 'x');
  for (int i = 0; i < 65; ++i) reader.add(line);
  const Report report = reader.finish();
  CHECK_FALSE(report.complete);
  CHECK(report.trouble == "it is longer than 64 MiB");
  const Report named = read_text("NCCL version " + std::string(3000, '9') + "\n" + head);
  CHECK(named.version.size() == 64);
  const Report skipped = read_text("NCCL version " + std::string(5000, '9') + "\n" + head);
  CHECK(skipped.version == "2.27.7");
}

TEST_CASE("more ranks than are looked at make a report incomplete") {
  std::string text = "{\"communicators\": [{\"hash\": \"0x1\", \"size\": 9, \"ranks\": [";
  for (std::size_t i = 0; i <= JsonReport::kMostRanks; ++i) text += "{\"rank\": 1},";
  text += "]}]}";
  const Report report = read_text(text);
  CHECK_FALSE(report.complete);
  CHECK(report.communicators.at(0).ranks.size() == JsonReport::kMostRanks);
}
