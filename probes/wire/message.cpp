// SPDX-License-Identifier: Apache-2.0
//
// The codec of the daemon-worker conversation, and the only file that knows nlohmann-json on this
// side of the house. Each message lists its fields once (fields()), and the writer and the reader
// both walk that list, so that what is written and what is read cannot drift apart. Pure, thread
// safe, and it never throws: what arrives from a worker is somebody else's bytes.
#include "probes/wire/message.h"

#include <concepts>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

namespace collwatch::wire {
namespace {

using model::ErrorCode;
using model::fail;
using model::Result;
using nlohmann::json;

constexpr std::size_t kMaxTextBytes = 4096;  // an error text; cut when written
constexpr std::size_t kMaxBlobBytes = 8192;  // one member's Gloo addresses
constexpr std::size_t kMaxListItems = 1024;  // anything longer is not a conversation

// --- the fields of every message, in one place ------------------------------------------------

#define COLLWATCH_MESSAGE(T, text)                 \
  constexpr std::string_view type_name(const T*) { \
    return text;                                   \
  }
COLLWATCH_MESSAGE(Start, "start")
COLLWATCH_MESSAGE(EdgePrepare, "edge_prepare")
COLLWATCH_MESSAGE(EdgeConnect, "edge_connect")
COLLWATCH_MESSAGE(EdgeClose, "edge_close")
COLLWATCH_MESSAGE(Round, "round")
COLLWATCH_MESSAGE(GroupPrepare, "group_prepare")
COLLWATCH_MESSAGE(GroupConnect, "group_connect")
COLLWATCH_MESSAGE(GroupRun, "group_run")
COLLWATCH_MESSAGE(GroupClose, "group_close")
COLLWATCH_MESSAGE(Stop, "stop")
COLLWATCH_MESSAGE(Hello, "hello")
COLLWATCH_MESSAGE(PhaseEntered, "phase_entered")
COLLWATCH_MESSAGE(EdgePrepared, "edge_prepared")
COLLWATCH_MESSAGE(EdgeReport, "edge_report")
COLLWATCH_MESSAGE(GroupPrepared, "group_prepared")
COLLWATCH_MESSAGE(CollectiveReport, "collective_report")
COLLWATCH_MESSAGE(RoundAck, "round_ack")
COLLWATCH_MESSAGE(WorkerError, "worker_error")
#undef COLLWATCH_MESSAGE

template <typename M, typename T>
concept Is = std::same_as<std::remove_const_t<M>, T>;

template <Is<Start> M>
void fields(auto& f, M& m) {
  f("v", m.v, "node", m.node);
}
template <Is<EdgePrepare> M>
void fields(auto& f, M& m) {
  f("peer", m.peer, "attempt", m.attempt, "rank", m.rank, "local_address", m.local_address,
    "timeout_ms", m.timeout_ms, "interval_ms", m.interval_ms);
}
template <Is<EdgeConnect> M>
void fields(auto& f, M& m) {
  f("peer", m.peer, "attempt", m.attempt, "context_id", m.context_id, "blob", m.blob);
}
template <Is<EdgeClose> M>
void fields(auto& f, M& m) {
  f("peer", m.peer);
}
template <Is<LargePayload> M>
void fields(auto& f, M& m) {
  f("peer", m.peer, "bytes", m.bytes);
}
template <Is<Round> M>
void fields(auto& f, M& m) {
  f("number", m.number, "timeout_ms", m.timeout_ms, "large", m.large);
}
template <Is<GroupPrepare> M>
void fields(auto& f, M& m) {
  f("attempt", m.attempt, "rank", m.rank, "size", m.size, "local_address", m.local_address,
    "timeout_ms", m.timeout_ms);
}
template <Is<GroupConnect> M>
void fields(auto& f, M& m) {
  f("attempt", m.attempt, "context_id", m.context_id, "blobs", m.blobs);
}
template <Is<CollectiveStep> M>
void fields(auto& f, M& m) {
  f("collective", m.collective, "size_bytes", m.size_bytes);
}
template <Is<GroupRun> M>
void fields(auto& f, M& m) {
  f("attempt", m.attempt, "round", m.round, "timeout_ms", m.timeout_ms, "steps", m.steps);
}
template <Is<GroupClose> M>
void fields(auto&, M&) {}
template <Is<Stop> M>
void fields(auto&, M&) {}
template <Is<Hello> M>
void fields(auto& f, M& m) {
  f("v", m.v, "backend", m.backend, "build", m.build, "pid", m.pid);
}
template <Is<PhaseEntered> M>
void fields(auto& f, M& m) {
  f("scope", m.scope, "phase", m.phase);
}
template <Is<EdgePrepared> M>
void fields(auto& f, M& m) {
  f("peer", m.peer, "attempt", m.attempt, "blob", m.blob);
}
template <Is<EdgeReport> M>
void fields(auto& f, M& m) {
  f("peer", m.peer, "attempt", m.attempt, "phase", m.phase, "round", m.round, "outcome", m.outcome,
    "half", m.half, "payload_bytes", m.payload_bytes, "failed_bytes", m.failed_bytes,
    "round_trip_us", m.round_trip_us, "large_round_trip_us", m.large_round_trip_us, "text", m.text);
}
template <Is<GroupPrepared> M>
void fields(auto& f, M& m) {
  f("attempt", m.attempt, "blob", m.blob);
}
template <Is<CollectiveReport> M>
void fields(auto& f, M& m) {
  f("attempt", m.attempt, "round", m.round, "phase", m.phase, "collective", m.collective,
    "size_bytes", m.size_bytes, "outcome", m.outcome, "duration_us", m.duration_us, "wait_us",
    m.wait_us, "text", m.text);
}
template <Is<RoundAck> M>
void fields(auto& f, M& m) {
  f("number", m.number, "late_us", m.late_us);
}
template <Is<WorkerError> M>
void fields(auto& f, M& m) {
  f("text", m.text);
}

// --- writing ----------------------------------------------------------------------------------

/// The length of the UTF-8 sequence that starts `text`, or 0 if there is none.
std::size_t utf8_length(std::string_view text) {
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
std::string clean_text(std::string_view text) {
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

std::string to_hex(const Blob& blob) {
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

int from_hex(char c) {
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
Result<Variant> read_as(const std::string& type, const json& object) {
  if constexpr (I == std::variant_size_v<Variant>) {
    return fail(ErrorCode::protocol, "unknown message type '" + clean_text(type) + "'");
  } else {
    std::variant_alternative_t<I, Variant> message;
    if (type_name(&message) != type) return read_as<Variant, I + 1>(type, object);
    std::string error;
    Reader reader(object, error);
    fields(reader, message);
    if (!error.empty()) return fail(ErrorCode::protocol, "message '" + type + "': " + error);
    return Variant(std::move(message));
  }
}

template <typename Variant>
Result<Variant> decode_any(std::string_view packet) {
  if (packet.size() > kMaxPacketBytes) {
    return fail(ErrorCode::protocol, "a packet of " + std::to_string(packet.size()) +
                                         " bytes is longer than the protocol allows");
  }
  const json object = json::parse(packet.begin(), packet.end(), nullptr, false);
  if (!object.is_object()) return fail(ErrorCode::protocol, "the packet is not a JSON object");
  const auto type = object.find("type");
  if (type == object.end() || !type->is_string()) {
    return fail(ErrorCode::protocol, "the message has no type");
  }
  return read_as<Variant>(type->get_ref<const std::string&>(), object);
}

}  // namespace

std::string encode(const ToWorker& message) {
  return encode_any(message);
}
std::string encode(const FromWorker& message) {
  return encode_any(message);
}

Result<ToWorker> decode_to_worker(std::string_view packet) {
  return decode_any<ToWorker>(packet);
}
Result<FromWorker> decode_from_worker(std::string_view packet) {
  return decode_any<FromWorker>(packet);
}

}  // namespace collwatch::wire
