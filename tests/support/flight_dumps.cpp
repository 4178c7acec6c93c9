// SPDX-License-Identifier: Apache-2.0
//
// Keys as version 2.10 has them.
#include "tests/support/flight_dumps.h"

#include <cstring>
#include <map>

namespace collwatch::test {
namespace {

using Json = nlohmann::ordered_json;

class Pickler {
 public:
  std::string whole(const Json& value) {
    out_ = "\x80\x02";
    put(value);
    return out_ + ".";
  }

 private:
  void little(std::uint64_t number, int width) {
    for (int i = 0; i < width; ++i) out_ += static_cast<char>(number >> (8 * i) & 0xffU);
  }

  void text(const std::string& value) {
    const auto [it, is_new] = memo_.try_emplace(value, memo_.size());
    const bool is_short = it->second < 256;
    if (is_new) {
      out_ += 'X';
      little(value.size(), 4);
      out_ += value;
      out_ += is_short ? 'q' : 'r';
    } else {
      out_ += is_short ? 'h' : 'j';
    }
    little(it->second, is_short ? 1 : 4);
  }

  void number(std::int64_t value) {
    if (value >= 0 && value < 256) {
      out_ += 'K';
      little(static_cast<std::uint64_t>(value), 1);
    } else if (value >= 0 && value < 65536) {
      out_ += 'M';
      little(static_cast<std::uint64_t>(value), 2);
    } else if (value >= INT32_MIN && value <= INT32_MAX) {
      out_ += 'J';
      little(static_cast<std::uint64_t>(value), 4);
    } else {
      out_ += "\x8a\x08";
      little(static_cast<std::uint64_t>(value), 8);
    }
  }

  void put(const Json& value) {
    if (value.is_null()) {
      out_ += 'N';
    } else if (value.is_boolean()) {
      out_ += value.get<bool>() ? '\x88' : '\x89';
    } else if (value.is_number_integer()) {
      number(value.get<std::int64_t>());
    } else if (value.is_number()) {
      const double real = value.get<double>();
      std::uint64_t bits = 0;
      std::memcpy(&bits, &real, sizeof bits);
      out_ += 'G';
      for (int i = 7; i >= 0; --i) out_ += static_cast<char>(bits >> (8 * i) & 0xffU);
    } else if (value.is_string()) {
      text(value.get<std::string>());
    } else if (value.is_array()) {
      out_ += "](";
      for (const Json& one : value) put(one);
      out_ += 'e';
    } else {
      out_ += "}(";
      for (const auto& [key, one] : value.items()) {
        text(key);
        put(one);
      }
      out_ += 'u';
    }
  }

  std::string out_;
  std::map<std::string, std::size_t> memo_;
};

std::string list_of(const std::vector<int>& members) {
  std::string text = "[";
  for (const int rank : members) text += (text.size() == 1 ? "" : ", ") + std::to_string(rank);
  return text + "]";
}

}  // namespace

std::string pickled(const Json& value) {
  return Pickler().whole(value);
}

void Recorder::group(const std::string& name, const std::string& description,
                     const std::vector<int>& members) {
  Known known;
  known.name = name;
  known.description = description;
  known.members = members;
  groups_.push_back(known);
}

Recorder::Known& Recorder::known(const std::string& name) {
  for (Known& one : groups_) {
    if (one.name == name) return one;
  }
  group(name, "undefined", {});
  return groups_.back();
}

void Recorder::call(const std::string& group, const std::string& op, const Shapes& in,
                    const Shapes& out, const std::string& state, const std::string& type) {
  Known& of = known(group);
  const bool is_gloo = manner_ == Manner::gloo;
  const bool is_over = state == "completed";
  ++of.calls;
  if (is_over) of.completed = of.calls;
  Json entry;
  entry["frames"] = Json::array({{{"name", "all_reduce"},
                                  {"filename", "/x/torch/distributed/distributed_c10d.py"},
                                  {"line", 77}},
                                 {{"name", "step"}, {"filename", "train.py"}, {"line", 12}}});
  entry["record_id"] = record_++;
  entry["pg_id"] = static_cast<int>(&of - groups_.data());
  entry["process_group"] = {of.name, of.description};
  entry["collective_seq_id"] = of.calls;
  entry["p2p_seq_id"] = 0;
  entry["op_id"] = of.calls;
  entry["profiling_name"] = (is_gloo ? "gloo:" : "nccl:") + op;
  entry["time_created_ns"] = 1700000000000000000 + record_;
  entry["input_sizes"] = in;
  entry["output_sizes"] = out;
  entry["input_dtypes"] = std::vector<std::string>(in.size(), type);
  entry["output_dtypes"] = std::vector<std::string>(out.size(), type);
  entry["state"] = is_gloo ? "scheduled" : state;
  entry["time_discovered_started_ns"] = nullptr;
  entry["time_discovered_completed_ns"] = nullptr;
  entry["retired"] = is_over;
  entry["timeout_ms"] = 600000;
  entry["is_p2p"] = false;
  entries_.push_back(std::move(entry));
}

void Recorder::forget(std::int64_t records, const std::string& group, std::int64_t calls) {
  record_ += records;
  known(group).calls += calls;
}

Json Recorder::dump() const {
  Json dump;
  dump["version"] = "2.10";
  dump["pg_config"] = Json::object();
  dump["pg_status"] = Json::object();
  for (const Known& one : groups_) {
    const bool is_gloo = manner_ == Manner::gloo;
    const std::string name = is_gloo ? "" : one.name;
    Json& config = dump["pg_config"][name];
    config["name"] = name;
    config["desc"] = is_gloo ? "" : one.description;
    config["ranks"] = list_of(one.members);
    Json& status = dump["pg_status"][std::to_string(&one - groups_.data())];
    status["last_enqueued_collective"] = one.calls == 0 ? -1 : one.calls;
    status["last_started_collective"] = -1;
    status["last_completed_collective"] = one.completed;
  }
  dump[manner_ == Manner::gloo ? "comm_lib_version" : "nccl_version"] =
      manner_ == Manner::gloo ? "" : "2.28.9";
  dump["entries"] = entries_;
  return dump;
}

std::string Recorder::pickle() const {
  return pickled(dump());
}

}  // namespace collwatch::test
