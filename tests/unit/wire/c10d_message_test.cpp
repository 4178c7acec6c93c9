// SPDX-License-Identifier: Apache-2.0
//
// The c10d probe's channel and document: every message round-trips, and whatever comes that is none
// is an Error.
#include "probes/wire/c10d_message.h"

#include "tests/support/catch.h"

using namespace collwatch;
using namespace collwatch::wire;
using Catch::Matchers::ContainsSubstring;

namespace {

void check(const FromC10d& message, const std::string& packet) {
  CHECK(encode(message) == packet);
  const auto decoded = decode_from_c10d(packet);
  REQUIRE(decoded);
  CHECK(decoded->index() == message.index());
  CHECK(encode(*decoded) == packet);
}

}  // namespace

TEST_CASE("every message of the c10d probe round-trips") {
  check(C10dVersions{2, "2.6.0"}, R"({"torch":"2.6.0","type":"c10d_versions","v":2})");
  check(C10dCell{"reduce", "int8", "MAX", "cpu", C10dEnd::wrong_values, "that is SUM"},
        R"({"device":"cpu","dtype":"int8","end":"wrong_values","op":"reduce","reduce_op":"MAX",)"
        R"("text":"that is SUM","type":"c10d_cell"})");
  check(C10dStore{"tcp", C10dEnd::refused, 7, "no libuv"},
        R"({"duration_us":7,"end":"refused","store":"tcp","text":"no libuv","type":"c10d_store"})");
  check(C10dDone{1, 2, 3}, R"({"cpu_ms":2,"rss_kb":3,"type":"c10d_done","wall_ms":1})");
}

TEST_CASE("what is no message of the c10d probe is an Error that says why") {
  const auto why = [](const char* packet) {
    const auto decoded = decode_from_c10d(packet);
    REQUIRE_FALSE(decoded);
    return decoded.error().text;
  };
  CHECK_THAT(why("nothing"), ContainsSubstring("not a JSON object"));
  CHECK_THAT(why(R"({"type":"hello"})"), ContainsSubstring("unknown message type"));
  CHECK_THAT(why(R"({"type":"c10d_done","wall_ms":1,"cpu_ms":2})"), ContainsSubstring("rss_kb"));
  CHECK_THAT(why(R"({"type":"c10d_store","store":"tcp","end":"fine","duration_us":1,"text":""})"),
             ContainsSubstring("end"));
}

TEST_CASE("the document has every part") {
  C10dReport report;
  report.versions.torch = "2.6.0";
  report.cells.push_back({"barrier", "", "", "cpu", C10dEnd::ok, ""});
  report.stores.push_back({"file", C10dEnd::ok, 9, ""});
  report.done = {1, 2, 3};
  const std::string document = encode_document(report);
  for (const char* part : {"\"schema\": 1", "\"torch\": \"2.6.0\"", "\"op\": \"barrier\"",
                           "\"store\": \"file\"", "\"rss_kb\": 3"}) {
    CHECK_THAT(document, ContainsSubstring(part));
  }
}
