// SPDX-License-Identifier: Apache-2.0
//
// The client against a server that answers, and against each way in which one does not.
#include "daemon/ras/client.h"

#include <unistd.h>

#include "tests/support/ras_server.h"
#include "tests/unit/ras/cases.h"

using namespace collwatch;
using namespace collwatch::ras;
using namespace ras_cases;
using Catch::Matchers::ContainsSubstring;
using test::RasDeed;
using test::RasServer;

namespace {

struct Question {
  Answer answer = Answer::lost;
  std::string why;
  Report report;
};

Question ask(std::uint16_t port, bool json = true, base::Millis step = base::Millis(20000),
             base::Millis whole_report = base::Millis(20000)) {
  Client::Options options;
  options.json = json;
  options.step = step;
  options.whole_report = whole_report;
  REQUIRE(fill_address("127.0.0.1", port, options));
  Client client(options);
  client.start(base::Clock::now());
  while (!client.advance(base::Clock::now())) usleep(1000);
  Question question;
  question.answer = client.answer();
  question.why = client.why();
  question.report = client.take_report();
  return question;
}

constexpr base::Millis kShort{200};
constexpr base::Millis kLong{20000};

}  // namespace

TEST_CASE("asks in order, and reads to the end") {
  const RasServer server(RasDeed::answer, text_of("lagging_2.30.7.json"));
  const Question question = ask(server.port());
  CHECK(question.answer == Answer::report);
  CHECK(question.report.complete);
  CHECK(question.report.communicators.size() == 1);
  CHECK(server.asked() ==
        std::vector<std::string>{"CLIENT PROTOCOL 2", "SET FORMAT json", "TIMEOUT 10", "STATUS"});
  CHECK(server.left_early() == 0);
}

TEST_CASE("takes text where JSON is refused, and asks for none where there is none") {
  const RasServer server(RasDeed::answer_without_json, text_of("lagging_2.28.9.txt"));
  const Question refused = ask(server.port());
  CHECK(refused.report.complete);
  CHECK(refused.report.format == Report::Format::text);
  const RasServer old(RasDeed::answer, text_of("healthy_2.27.7.txt"));
  CHECK(ask(old.port(), false).report.complete);
  CHECK(old.asked() == std::vector<std::string>{"CLIENT PROTOCOL 2", "TIMEOUT 10", "STATUS"});
}

TEST_CASE("nobody listens") {
  std::uint16_t port = 0;
  {
    const RasServer server(RasDeed::answer, "");
    port = server.port();
  }
  CHECK(ask(port).answer == Answer::no_listener);
}

TEST_CASE("a stopped process takes the connection and says nothing") {
  const RasServer server(RasDeed::say_nothing, "");
  const Question question = ask(server.port(), true, kShort);
  CHECK(question.answer == Answer::silent);
  CHECK_THAT(question.why, ContainsSubstring("said nothing"));
}

TEST_CASE("whoever is not NCCL is left at its first line") {
  const RasServer mail(RasDeed::wrong_hello, "");
  const Question question = ask(mail.port());
  CHECK(question.answer == Answer::not_ras);
  CHECK_THAT(question.why, ContainsSubstring("220 mail"));
  const RasServer endless(RasDeed::endless_hello, "");
  CHECK(ask(endless.port()).answer == Answer::not_ras);
  const RasServer closing(RasDeed::close_at_hello, "");
  CHECK(ask(closing.port()).answer == Answer::lost);
}

TEST_CASE("a report that is cut off is none") {
  for (const char* const name : {"lagging_2.30.7.json", "stopped_2.28.9.txt"}) {
    const RasServer server(RasDeed::cut, text_of(name));
    const Question question = ask(server.port());
    CHECK(question.answer == Answer::report);
    CHECK_FALSE(question.report.complete);
    CHECK(question.why == "it ends before its end");
  }
}

TEST_CASE("a report that drips or has no end is given up at the deadline, not before") {
  for (const RasDeed deed : {RasDeed::drip, RasDeed::endless}) {
    const RasServer server(deed, text_of("healthy_2.30.7.json"));
    const auto begun = base::Clock::now();
    const Question question = ask(server.port(), true, kLong, kShort);
    CHECK(base::Clock::now() - begun >= kShort);
    CHECK(question.answer == Answer::report);
    CHECK_FALSE(question.report.complete);
    CHECK(question.why == "it did not end in time");
  }
}

TEST_CASE("what follows a broken report is still read, since the server spins when it is left") {
  std::string report = "{]" + std::string(std::size_t{8} << 20, 'x');
  const RasServer server(RasDeed::answer, std::move(report));
  const Question question = ask(server.port());
  CHECK(question.why == "its JSON is none");
  CHECK(server.left_early() == 0);
}

TEST_CASE("addresses are numbers") {
  Client::Options options;
  CHECK(fill_address("::1", 1, options));
  CHECK(options.address.ss_family == AF_INET6);
  CHECK_FALSE(fill_address("localhost", 1, options));
  CHECK_FALSE(fill_address("", 1, options));
}
