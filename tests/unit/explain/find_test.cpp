// SPDX-License-Identifier: Apache-2.0
//
// Whatever a person has in hand leads to the right entry: ids, texts of every version, search keys.
#include "daemon/explain/find.h"

#include "daemon/explain/print.h"
#include "tests/support/catch.h"

namespace {

using namespace collwatch;
using explain::FoundBy;
using model::Fingerprint;

const catalogue::Catalogue& built_in() {
  static const auto kCatalogue = catalogue::Catalogue::built_in();
  if (!kCatalogue) FAIL(kCatalogue.error().text);
  return *kCatalogue;
}

std::string found(const std::string& text) {
  const auto it = explain::find(built_in(), text);
  return it ? std::string(model::name(it->id)) : "nothing";
}

std::optional<FoundBy> by(const std::string& text) {
  const auto it = explain::find(built_in(), text);
  return it ? std::optional<FoundBy>(it->by) : std::nullopt;
}

}  // namespace

TEST_CASE("an id is found however it is written") {
  for (const catalogue::Entry& entry : built_in().entries()) {
    CHECK(found(std::string(model::name(entry.id))) == model::name(entry.id));
  }
  CHECK(found("GlooPeerLost") == "gloo_peer_lost");
  CHECK(found("nccl-duplicate-gpu") == "nccl_duplicate_gpu");
  CHECK(by("GlooPeerLost") == FoundBy::id);
}

TEST_CASE("the search key that no version prints and the real wordings meet in one entry") {
  CHECK(by("Gloo does not support GPU tensors") == FoundBy::phrase);
  const char* const texts[] = {
      "Gloo does not support GPU tensors",
      "why: gloo does not   support gpu TENSORS?",
      "RuntimeError: ProcessGroupGloo::allreduce: unsupported device type cuda",
      "[rank1]: RuntimeError: No backend type associated with device type cuda",
      "NotImplementedError: Could not run 'c10d::allreduce_' with arguments from the 'CUDA' "
      "backend",
      "RuntimeError: [../third_party/gloo/gloo/transport/tcp/pair.cc:331] writev "
      "[10.0.0.4]:21445: Bad address",
  };
  for (const char* text : texts) {
    CAPTURE(text);
    CHECK(found(text) == "gloo_gpu_tensor_misuse");
  }
}

TEST_CASE("every phrase leads to its own entry") {
  for (const catalogue::Entry& entry : built_in().entries()) {
    for (const std::string& phrase : entry.phrases) {
      CAPTURE(phrase);
      CHECK(found(phrase) == model::name(entry.id));
    }
  }
}

TEST_CASE("every example leads to its own entry, as it is and as a launcher shows it") {
  for (const catalogue::Entry& entry : built_in().entries()) {
    if (entry.patterns.empty()) continue;
    const std::string& example = entry.patterns.front().examples.front();
    CAPTURE(example);
    CHECK(found(example) == model::name(entry.id));
    CHECK(found("[default1]: " + example + "\r") == model::name(entry.id));
  }
}

TEST_CASE("prefixes are peeled off before a text is compared") {
  CHECK(by("[rank3]: Wait timeout") == FoundBy::pattern);
  CHECK(found("[rank3]: Wait timeout") == "file_store_not_shared");
}

TEST_CASE("of a pasted traceback the line that accuses most speaks") {
  const std::string pasted =
      "Traceback (most recent call last):\n"
      "  File \"train.py\", line 12, in <module>\n"
      "RuntimeError: [../third_party/gloo/gloo/transport/tcp/pair.cc:534] Connection closed by "
      "peer "
      "[10.0.0.4]:21445\n"
      "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total "
      "capacity of 79.10 GiB\n";
  CHECK(found(pasted) == "cuda_oom");
}

TEST_CASE("where a few words fit several entries, the others are told") {
  const auto refused = explain::find(built_in(), "connection refused");
  REQUIRE(refused);
  CHECK(refused->by == FoundBy::phrase);
  CHECK(refused->others ==
        std::vector<Fingerprint>{Fingerprint::store_unreachable, Fingerprint::nccl_socket_error});
  CHECK(explain::found_text(*refused).find("; see also store_unreachable,") != std::string::npos);
}

TEST_CASE("versions are told where they are known, and not as nothing") {
  explain::Found found;
  found.by = FoundBy::pattern;
  found.pattern.emplace().versions = "2.6";
  CHECK(explain::found_text(found).find("Versions: 2.6.") != std::string::npos);
  found.pattern->versions = "";  // as in files of users' own
  CHECK(explain::found_text(found).find("Versions") == std::string::npos);
}

TEST_CASE("words are enough where nothing else is known") {
  CHECK(found("port already in use") == "store_port_in_use");
  CHECK(found("the gpu ran out of memory") == "cuda_oom");
  CHECK(found("slow machine in my training") == "straggler");
  CHECK(by("slow machine in my training") == FoundBy::words);
}

TEST_CASE("what nobody knows is not guessed") {
  for (const char* text : {"pizza recipe", "", " ", "gloo_peer_last", "the", "[]", "error"}) {
    CAPTURE(text);
    CHECK(found(text) == "nothing");
  }
}

TEST_CASE("a layer has its own entries first, then those that its variables tell apart") {
  const auto entries = explain::entries_of_layer(built_in(), "nccl");
  std::string names;
  for (const auto* entry : entries) names += std::string(model::name(entry->id)) + " ";
  CHECK(names.rfind("nccl_watchdog_timeout nccl_system_error", 0) == 0);
  CHECK(names.find("nccl_ib_error") != std::string::npos);
  CHECK(names.find("nccl_init_failed cuda_error") == std::string::npos);
  CHECK(names.find("nccl_init_failed") < names.find("cuda_error"));
  CHECK(names.find("cuda_error") != std::string::npos);
  CHECK(names.find("gloo_peer_lost") == std::string::npos);
  CHECK(explain::entries_of_layer(built_in(), "pizza").empty());
  CHECK(explain::layers(built_in()) ==
        std::vector<std::string>{"gloo", "store", "collective", "nccl", "gpu", "host"});
}
