// SPDX-License-Identifier: Apache-2.0
//
// A SAX builder instead of from_cbor(): the latter recurses as deep as the input says and throws
// on absurd array lengths even in its no-throw form.
#include "daemon/peer/cbor.h"

#include <algorithm>

namespace collwatch::peer {

namespace {

constexpr std::size_t kMaxDepth = 8;

class Builder final : public nlohmann::json_sax<Json> {
 public:
  Json take() { return std::move(root_); }

  bool null() override { return add(nullptr); }
  bool boolean(bool value) override { return add(value); }
  bool number_integer(number_integer_t value) override { return add(value); }
  bool number_unsigned(number_unsigned_t value) override { return add(value); }
  bool number_float(number_float_t value, const string_t&) override { return add(value); }
  bool string(string_t& value) override { return add(std::move(value)); }
  bool binary(binary_t& value) override { return add(Json::binary(std::move(value))); }
  bool start_object(std::size_t) override { return open(Json::object()); }
  bool start_array(std::size_t) override { return open(Json::array()); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }
  bool key(string_t& value) override {
    key_ = std::move(value);
    return true;
  }
  bool parse_error(std::size_t, const std::string&, const nlohmann::detail::exception&) override {
    return false;
  }

 private:
  Json* put(Json value) {
    if (open_.empty()) return &(root_ = std::move(value));
    Json& parent = *open_.back();
    if (parent.is_object()) return &(parent[key_] = std::move(value));
    parent.push_back(std::move(value));
    return &parent.back();
  }
  bool add(Json value) {
    put(std::move(value));
    return true;
  }
  bool open(Json value) {
    if (open_.size() >= kMaxDepth) return false;
    // A parent's elements do not move while a child is open: only the innermost container grows.
    open_.push_back(put(std::move(value)));
    return true;
  }
  bool close() {
    open_.pop_back();
    return true;
  }

  Json root_;
  std::vector<Json*> open_;
  std::string key_;
};

/// Length of the UTF-8 sequence that starts with `lead`; 0 if none does.
std::size_t sequence_length(unsigned char lead) {
  if (lead < 0x80) return 1;
  if (lead >= 0xc2 && lead <= 0xdf) return 2;
  if (lead >= 0xe0 && lead <= 0xef) return 3;
  if (lead >= 0xf0 && lead <= 0xf4) return 4;
  return 0;
}

}  // namespace

std::string to_cbor(const Json& value) {
  std::string bytes;
  Json::to_cbor(value, bytes);
  return bytes;
}

model::Result<Json> parse_cbor(std::string_view bytes) {
  Builder builder;
  const bool ok = Json::sax_parse(bytes.begin(), bytes.end(), &builder, Json::input_format_t::cbor);
  if (!ok) return model::fail(model::ErrorCode::protocol, "not CBOR, or nested too deep");
  return builder.take();
}

bool is_clean_text(std::string_view text) {
  for (std::size_t i = 0; i < text.size();) {
    const auto lead = static_cast<unsigned char>(text[i]);
    const std::size_t length = sequence_length(lead);
    if (length == 0 || i + length > text.size() || lead < 0x20 || lead == 0x7f) return false;
    for (std::size_t k = 1; k < length; ++k) {
      const auto byte = static_cast<unsigned char>(text[i + k]);
      if ((byte & 0xc0U) != 0x80U) return false;
      // Overlong forms, surrogates, beyond U+10FFFF, and C1 controls.
      if (k > 1) continue;
      if ((lead == 0xe0 && byte < 0xa0) || (lead == 0xed && byte > 0x9f)) return false;
      if ((lead == 0xf0 && byte < 0x90) || (lead == 0xf4 && byte > 0x8f)) return false;
      if (lead == 0xc2 && byte < 0xa0) return false;
    }
    i += length;
  }
  return true;
}

std::string printable(std::string_view text, std::size_t max) {
  std::string out(text.substr(0, max));
  std::replace_if(
      out.begin(), out.end(), [](char c) { return c < 0x20 || c > 0x7e; }, '?');
  return out;
}

const Json* Fields::at(const char* key) {
  if (ok()) last_ = key;
  const auto found = value_.find(key);
  return found == value_.end() ? nullptr : &*found;
}

const Json* Fields::at(std::size_t index) {
  if (ok()) last_ = std::to_string(index);
  return value_.is_array() && index < value_.size() ? &value_[index] : nullptr;
}

void Fields::refuse(const std::string& expected) {
  if (ok()) problem_ = "field '" + last_ + "': expected " + expected;
}

std::string Fields::text(const Json* field, std::size_t max, bool may_be_empty) {
  const auto* text = field != nullptr ? field->get_ptr<const std::string*>() : nullptr;
  if (text == nullptr || text->size() > max || (text->empty() && !may_be_empty) ||
      !is_clean_text(*text)) {
    refuse("text of at most " + std::to_string(max) + " bytes");
    return {};
  }
  return *text;
}

std::string Fields::sentence(const Json* field, std::size_t max) {
  const auto* text = field != nullptr ? field->get_ptr<const std::string*>() : nullptr;
  if (text == nullptr) {
    refuse("text");
    return {};
  }
  return printable(*text, max);
}

std::vector<char> Fields::blob(const Json* field, std::size_t max) {
  if (field == nullptr || !field->is_binary() || field->get_binary().size() > max) {
    refuse("at most " + std::to_string(max) + " bytes");
    return {};
  }
  const auto& bytes = field->get_binary();
  return {bytes.begin(), bytes.end()};
}

const Json& Fields::array(const Json* field, std::size_t max) {
  static const Json kEmpty = Json::array();
  if (field == nullptr || !field->is_array() || field->size() > max) {
    refuse("an array of at most " + std::to_string(max));
    return kEmpty;
  }
  return *field;
}

std::uint64_t Fields::whole_number(const Json* field, std::int64_t min, std::uint64_t max) {
  if (field != nullptr && field->is_number_unsigned()) {
    const auto value = field->get<std::uint64_t>();
    if (value <= max && (min <= 0 || value >= static_cast<std::uint64_t>(min))) return value;
  } else if (field != nullptr && field->is_number_integer()) {
    const auto value = field->get<std::int64_t>();
    const bool below = value < 0 || static_cast<std::uint64_t>(value) <= max;
    if (value >= min && below) return static_cast<std::uint64_t>(value);
  }
  refuse("a whole number from " + std::to_string(min) + " to " + std::to_string(max));
  // Never out of range, so that a caller who forgets ok() still has a value it can live with.
  return static_cast<std::uint64_t>(std::max<std::int64_t>(min, 0));
}

}  // namespace collwatch::peer
