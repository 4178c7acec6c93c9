// SPDX-License-Identifier: Apache-2.0
//
// nlohmann's parser by events: it keeps no document of its own, and no recursion.
#include "daemon/flight/read_json.h"

#include <cstddef>
#include <cstdint>
#include <exception>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

namespace collwatch::flight {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kDeepest = 1000;

class Handler : public nlohmann::json_sax<Json> {
 public:
  bool null() override { return put(tree_.add_none()); }
  bool boolean(bool value) override { return put(tree_.add_boolean(value)); }
  bool number_integer(number_integer_t value) override { return put(tree_.add_integer(value)); }
  bool number_unsigned(number_unsigned_t value) override {
    constexpr auto kMost = static_cast<number_unsigned_t>(std::numeric_limits<std::int64_t>::max());
    return put(value > kMost ? tree_.add_none()
                             : tree_.add_integer(static_cast<std::int64_t>(value)));
  }
  bool number_float(number_float_t value, const string_t& /*text*/) override {
    return put(tree_.add_real(value));
  }
  bool string(string_t& value) override { return put(tree_.append_text(value)); }
  bool binary(binary_t& /*value*/) override { return stop("holds bytes"); }
  bool key(string_t& value) override { return put(tree_.append_text(value)); }
  bool start_object(std::size_t /*size*/) override { return open(tree_.add_map()); }
  bool start_array(std::size_t /*size*/) override { return open(tree_.add_list()); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }
  bool parse_error(std::size_t position, const std::string& /*token*/,
                   const Json::exception& /*error*/) override {
    return stop("byte " + std::to_string(position) + ": not JSON from here on");
  }

  Tree take() { return std::move(tree_); }
  const std::string& problem() const { return problem_; }

 private:
  bool stop(const std::string& problem) {
    if (problem_.empty()) problem_ = problem;
    return false;
  }

  bool put(NodeId node) {
    if (node == Tree::kFull) return stop("more values than any dump has");
    if (open_.empty()) {
      tree_.set_root(node);
      return true;
    }
    return tree_.append(open_.back(), node) || stop("more values than any dump has");
  }

  bool open(NodeId node) {
    if (!put(node)) return false;
    if (open_.size() >= kDeepest) return stop("nested deeper than " + std::to_string(kDeepest));
    open_.push_back(node);
    return true;
  }

  bool close() {
    open_.pop_back();
    return true;
  }

  Tree tree_;
  std::vector<NodeId> open_;
  std::string problem_;
};

}  // namespace

model::Result<Tree> read_json(std::string_view bytes) {
  Handler handler;
  try {
    if (!Json::sax_parse(bytes.begin(), bytes.end(), &handler))
      return model::fail(model::ErrorCode::protocol, handler.problem());
  } catch (const std::exception& error) {
    return model::fail(model::ErrorCode::protocol, error.what());
  }
  return handler.take();
}

}  // namespace collwatch::flight
