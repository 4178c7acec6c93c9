// SPDX-License-Identifier: Apache-2.0
//
// How a struct becomes a JSON object and back, for the codecs of this folder: each message lists
// its fields once, in a function fields(), and the writer and the reader both walk that list, so
// that what is written and what is read cannot drift apart. Nothing throws: what arrives from a
// worker is somebody else's bytes. Used by message.cpp and watch_message.cpp alone; nlohmann-json
// ends here.
#pragma once

#include <concepts>
#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "probes/wire/message.h"

namespace collwatch::wire {

using nlohmann::json;

inline constexpr std::size_t kMaxTextBytes = 4096;  // an error text; cut when written
inline constexpr std::size_t kMaxBlobBytes = 8192;  // one member's Gloo addresses
inline constexpr std::size_t kMaxListItems = 1024;  // anything longer is not a conversation

/// Is<T> M: M is T, const or not.
template <typename M, typename T>
concept Is = std::same_as<std::remove_const_t<M>, T>;

#define COLLWATCH_MESSAGE(T, text)                 \
  constexpr std::string_view type_name(const T*) { \
    return text;                                   \
  }

// --- writing ----------------------------------------------------------------------------------

/// The length of the UTF-8 sequence that starts `text`, or 0 if there is none.
inline std::size_t utf8_length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  if (first < 0x80) return 1;
  const std::size_t length = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || first > 0xF4 || text.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return 0;
  }
  const bool overlong = (first == 0xE0 && byte(1) < 0xA0) || (first == 0xF0 && byte(1) < 0x90);
  const bool beyond = (first == 0xED && byte(1) > 0x9F) || (first == 0xF4 && byte(1) > 0x8F);
  return overlong || beyond ? 0 : length;
}

/// Whatever a library said, as valid UTF-8 of at most kMaxTextBytes.
inline std::string clean_text(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const std::size_t length = utf8_length(text);
    const std::string_view piece = length == 0 ? "?" : text.substr(0, length);
    if (out.size() + piece.size() > kMaxTextBytes) break;
    out += piece;
    text.remove_prefix(length == 0 ? 1 : length);
  }
  return out;
}

inline std::string to_hex(const Blob& blob) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string out;
  out.reserve(2 * blob.size());
  for (const char c : blob) {
    const auto byte = static_cast<unsigned char>(c);
    out += kDigits[byte >> 4];
    out += kDigits[byte & 15];
  }
  return out;
}

class Writer {
 public:
  explicit Writer(json& object) : object_(object) {}

  template <typename T, typename... More>
  void operator()(const char* key, const T& value, const More&... more) {
    object_[key] = to_json(value);
    if constexpr (sizeof...(more) > 0) (*this)(more...);
  }

 private:
  static json to_json(const std::string& value) { return clean_text(value); }
  static json to_json(const Blob& value) { return to_hex(value); }
  template <std::integral T>
  static json to_json(T value) {
    return value;
  }
  template <typename E>
  requires std::is_enum_v<E>
  static json to_json(E value) { return std::string(model::name(value)); }
  template <typename T>
  static json to_json(const std::vector<T>& items) {
    json array = json::array();
    for (const T& item : items) array.push_back(to_json(item));
    return array;
  }
  template <typename M>
  requires std::is_class_v<M>
  static json to_json(const M& part) {
    json object = json::object();
    Writer writer(object);
    fields(writer, part);
    return object;
  }

  json& object_;
};

template <typename Variant>
std::string encode_any(const Variant& message) {
  json object = json::object();
  std::visit(
      [&](const auto& m) {
        object["type"] = type_name(&m);
        Writer writer(object);
        fields(writer, m);
      },
      message);
  return object.dump(-1, ' ', false, json::error_handler_t::replace);
}

// --- reading ----------------------------------------------------------------------------------

inline int from_hex(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return -1;
}

/// Reads the fields of one object; the first thing wrong is kept in `error` and the rest skipped.
class Reader {
 public:
  Reader(const json& object, std::string& error) : object_(object), error_(error) {}

  template <typename T, typename... More>
  void operator()(const char* key, T& value, More&... more) {
    if (!error_.empty()) return;
    const auto found = object_.find(key);
    if (found == object_.end()) {
      error_ = std::string("field '") + key + "' is missing";
    } else if (!read(*found, value) && error_.empty()) {
      error_ = std::string("field '") + key + "' has a wrong type or range";
    }
    if constexpr (sizeof...(more) > 0) (*this)(more...);
  }

 private:
  bool read(const json& from, std::string& value) {
    if (!from.is_string()) return false;
    value = from.get_ref<const std::string&>();
    return value.size() <= kMaxTextBytes;
  }
  bool read(const json& from, Blob& value) {
    if (!from.is_string()) return false;
    const auto& hex = from.get_ref<const std::string&>();
    if (hex.size() % 2 != 0 || hex.size() > 2 * kMaxBlobBytes) return false;
    value.clear();
    for (std::size_t i = 0; i < hex.size(); i += 2) {
      const int high = from_hex(hex[i]);
      const int low = from_hex(hex[i + 1]);
      if (high < 0 || low < 0) return false;
      value.push_back(static_cast<char>(high << 4 | low));
    }
    return true;
  }
  bool read(const json& from, bool& value) {
    if (!from.is_boolean()) return false;
    value = from.get<bool>();
    return true;
  }
  template <std::integral T>
  bool read(const json& from, T& value) {
    if (from.is_number_unsigned()) {
      const auto number = from.get<std::uint64_t>();
      if (!std::in_range<T>(number)) return false;
      value = static_cast<T>(number);
      return true;
    }
    if (!from.is_number_integer()) return false;
    const auto number = from.get<std::int64_t>();
    if (!std::in_range<T>(number)) return false;
    value = static_cast<T>(number);
    return true;
  }
  template <typename E>
  requires std::is_enum_v<E>
  bool read(const json& from, E& value) {
    if (!from.is_string()) return false;
    const auto parsed = model::parse<E>(from.get_ref<const std::string&>());
    if (parsed) value = *parsed;
    return parsed.has_value();
  }
  template <typename T>
  bool read(const json& from, std::vector<T>& items) {
    if (!from.is_array() || from.size() > kMaxListItems) return false;
    items.clear();
    for (const json& item : from) {
      if (!read(item, items.emplace_back())) return false;
    }
    return true;
  }
  template <typename M>
  requires std::is_class_v<M>
  bool read(const json& from, M& part) {
    if (!from.is_object()) return false;
    Reader reader(from, error_);
    fields(reader, part);
    return error_.empty();
  }

  const json& object_;
  std::string& error_;
};

/// Tries the variant's alternatives by their type name.
template <typename Variant, std::size_t I = 0>
model::Result<Variant> read_as(const std::string& type, const json& object) {
  if constexpr (I == std::variant_size_v<Variant>) {
    return model::fail(model::ErrorCode::protocol,
                       "unknown message type '" + clean_text(type) + "'");
  } else {
    std::variant_alternative_t<I, Variant> message;
    if (type_name(&message) != type) return read_as<Variant, I + 1>(type, object);
    std::string error;
    Reader reader(object, error);
    fields(reader, message);
    if (!error.empty())
      return model::fail(model::ErrorCode::protocol, "message '" + type + "': " + error);
    return Variant(std::move(message));
  }
}

template <typename Variant>
model::Result<Variant> decode_any(std::string_view packet) {
  if (packet.size() > kMaxPacketBytes) {
    return model::fail(model::ErrorCode::protocol, "a packet of " + std::to_string(packet.size()) +
                                                       " bytes is longer than the protocol allows");
  }
  const json object = json::parse(packet.begin(), packet.end(), nullptr, false);
  if (!object.is_object())
    return model::fail(model::ErrorCode::protocol, "the packet is not a JSON object");
  const auto type = object.find("type");
  if (type == object.end() || !type->is_string()) {
    return model::fail(model::ErrorCode::protocol, "the message has no type");
  }
  return read_as<Variant>(type->get_ref<const std::string&>(), object);
}

}  // namespace collwatch::wire
