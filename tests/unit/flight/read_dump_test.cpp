// SPDX-License-Identifier: Apache-2.0
//
// From bytes to a typed dump: pickle and JSON alike, old and new versions, and what is wrong named
// by entry and key.
#include <fstream>
#include <sstream>
#include <string>

#include "daemon/flight/dump.h"
#include "tests/support/catch.h"
#include "tests/support/flight_dumps.h"

using namespace collwatch;
using flight::Words;
using nlohmann::ordered_json;
using test::Recorder;

namespace {

Recorder sample() {
  Recorder rank(1, Recorder::Manner::nccl);
  rank.group("0", "default_pg", {0, 1});
  rank.all_reduce("0");
  rank.call("0", "all_gather", {{4, 2}}, {{4, 2}, {4, 2}}, "started", "BFloat16");
  return rank;
}

std::string error_of(const std::string& bytes) {
  Words words;
  const auto dump = flight::read_dump(bytes, words);
  return dump ? "read" : dump.error().text;
}

std::string changed(const std::string& key, const ordered_json& value) {
  ordered_json dump = sample().dump();
  dump["entries"][1][key] = value;
  return dump.dump();
}

void check_sample(const flight::Dump& dump, const Words& words) {
  CHECK(dump.version == "2.10");
  CHECK(dump.library == "2.28.9");
  REQUIRE(dump.groups.size() == 1);
  const flight::Group& group = dump.groups[0];
  CHECK(words.text(group.name) == "0");
  CHECK(words.text(group.description) == "default_pg");
  CHECK(words.text(group.members) == "[0, 1]");
  CHECK(group.last_enqueued == 2);
  CHECK(group.last_completed == 1);
  REQUIRE(dump.entries.size() == 2);
  const flight::Entry& entry = dump.entries[1];
  CHECK(entry.record == 1);
  CHECK(entry.seq == 2);
  CHECK(words.text(entry.op) == "nccl:all_gather");
  CHECK(words.text(entry.inputs) == "[[4, 2]]");
  CHECK(words.text(entry.output_counts) == "[8, 8]");
  CHECK(words.text(entry.input_types) == "[BFloat16]");
  CHECK(entry.output_total == 16);
  CHECK(entry.state == flight::State::started);
  CHECK_FALSE(entry.is_retired);
  CHECK(entry.timeout_ms == 600000);
  CHECK(entry.created_ns == 1700000000000000002);
  CHECK(words.text(entry.code) == "train.py:12");
}

}  // namespace

TEST_CASE("read_dump: pickle and JSON say the same") {
  for (const std::string& bytes : {sample().pickle(), sample().json(), sample().dump().dump(2)}) {
    Words words;
    const auto dump = flight::read_dump(bytes, words);
    REQUIRE(dump);
    check_sample(*dump, words);
  }
}

TEST_CASE("read_dump: keys that a version lacks are left empty") {
  for (const char* key :
       {"frames", "record_id", "process_group", "p2p_seq_id", "op_id", "time_created_ns",
        "input_sizes", "output_sizes", "input_dtypes", "output_dtypes", "state", "retired",
        "timeout_ms", "is_p2p", "pg_id", "time_discovered_started_ns", "collective_seq_id"}) {
    ordered_json dump = sample().dump();
    for (ordered_json& entry : dump["entries"]) entry.erase(key);
    INFO(key);
    CHECK(error_of(dump.dump()) == "read");
    CHECK(error_of(test::pickled(dump)) == "read");
  }
  for (const char* key : {"version", "pg_config", "pg_status", "entries", "nccl_version"}) {
    ordered_json dump = sample().dump();
    dump.erase(key);
    INFO(key);
    CHECK(error_of(dump.dump()) == "read");
  }
  Words words;
  const auto old = flight::read_dump(
      R"({"version": "2.0", "entries": [{"seq_id": 3, "pg_id": 5, "state": "completed"}]})", words);
  REQUIRE(old);
  CHECK(old->entries[0].seq == 3);
  CHECK(words.text(old->groups[0].name) == "5");
}

TEST_CASE("read_dump: what is wrong is named by entry and key") {
  CHECK(error_of(changed("collective_seq_id", "many")) ==
        "entry 2, key 'collective_seq_id': is no whole number");
  CHECK(error_of(changed("input_sizes", {1, 2})) ==
        "entry 2, key 'input_sizes': is no list of shapes");
  CHECK(error_of(changed("output_sizes", {{-1}})) ==
        "entry 2, key 'output_sizes': has a size that is no number");
  CHECK(error_of(changed("profiling_name", 5)) == "entry 2, key 'profiling_name': is no text");
  CHECK(error_of(changed("process_group", ordered_json::array())) ==
        "entry 2, key 'process_group': is empty");
  ordered_json dump = sample().dump();
  dump["entries"] = 3;
  CHECK(error_of(dump.dump()) == "key 'entries': is no list");
  dump["entries"] = {1};
  CHECK(error_of(dump.dump()) == "entry 1, is no map");
  dump["version"] = "3.1";
  CHECK(error_of(dump.dump()) == "key 'version': 3.1 is not known, up to 2.x is");
  CHECK(error_of("[]").find("holds no Flight Recorder dump") == 0);
  CHECK(error_of("{\"a\": 1}").find("holds no Flight Recorder dump") == 0);
  CHECK(error_of(sample().json().substr(0, 300)).find("not JSON from here on") !=
        std::string::npos);
  CHECK(error_of(std::string(5000, '[')).find("nested deeper than 1000") != std::string::npos);
}

TEST_CASE("read_dump: a dump that refers to one value again and again is bounded") {
  // One entry with a thousand shapes of 60 dimensions, referred to 100,000 times: 6e9 numbers.
  std::string bomb = "\x80\x02}(X\x07";
  bomb += std::string(3, '\0') + "versionX\x03" + std::string(3, '\0') + "2.4X\x07" +
          std::string(3, '\0') + "entries](}(X\x0b" + std::string(3, '\0') + "input_sizes](](";
  for (int i = 0; i < 60; ++i) bomb += "K\x02";
  bomb += std::string("eq\0", 3);
  for (int i = 0; i < 1000; ++i) bomb += std::string("h\0", 2);
  bomb += "euq\x01";
  for (int i = 0; i < 100000; ++i) bomb += "h\x01";
  bomb += "eu.";
  const std::string error = error_of(bomb);
  INFO(error);
  CHECK(error.find("the dump refers to itself too often") != std::string::npos);
  // The entries hold themselves.
  CHECK(error_of(std::string("\x80\x02}(X\x07\0\0\0entries]q\0h\0au.", 24)) ==
        "entry 1, is no map");
}

TEST_CASE("looks_like_dump: by content and name, never a log") {
  using flight::looks_like_dump;
  const Recorder rank = sample();
  CHECK(looks_like_dump(rank.pickle().substr(0, 4096), "anything"));
  CHECK(looks_like_dump(rank.json().substr(0, 4096), "anything"));
  CHECK(looks_like_dump(rank.dump().dump(4).substr(0, 4096), "anything"));
  CHECK(looks_like_dump("\x80\x02", "x/nccl_trace_rank_3"));
  CHECK(looks_like_dump("{\"version\":\"2.10\"}", "comm_lib_trace_rank_0.json"));
  CHECK_FALSE(looks_like_dump("\x80\x04\x95", "model.pkl"));
  CHECK_FALSE(looks_like_dump("{\"version\":\"1.1\",\"host\":\"a\"}\n", "gelf.log"));
  CHECK_FALSE(looks_like_dump("{\"msg\": \"pg_config\"}", "x.log"));
  CHECK_FALSE(looks_like_dump("step 1\n", "nccl_trace_rank_0.log"));
  CHECK_FALSE(looks_like_dump("", "nccl_trace_rank_0"));
}

TEST_CASE("names: the rank in them, and the name of another rank's dump") {
  CHECK(flight::rank_of_name("/tmp/nccl_trace_rank_12") == 12);
  CHECK(flight::rank_of_name("a/comm_lib_trace_rank_3.json.gz") == 3);
  CHECK(flight::rank_of_name("job7/dump_4.pkl") == 4);
  CHECK_FALSE(flight::rank_of_name("job7/dump.pkl"));
  CHECK_FALSE(flight::rank_of_name("nccl_trace_rank_.pkl"));
  CHECK_FALSE(flight::rank_of_name("1234567890"));
  CHECK(flight::name_for_rank("nccl_trace_rank_12.json", 3) == "nccl_trace_rank_3.json");
  CHECK(flight::name_for_rank("dump", 3).empty());
  CHECK(flight::members_of("[0, 1, 12]") == std::vector<int>{0, 1, 12});
  CHECK(flight::members_of("none").empty());
}
