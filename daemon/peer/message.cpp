// SPDX-License-Identifier: Apache-2.0
//
// Requests and replies as CBOR maps: {"v", "from": {...}, "type": "<struct name>", ...its fields}.
// One pair of functions per body; a type that is not in the table is a protocol error.
#include "daemon/peer/message.h"

#include "daemon/peer/cbor.h"
#include "daemon/peer/witness_codec.h"

namespace collwatch::peer {

namespace {

constexpr std::size_t kMaxHashBytes = 128;
constexpr std::size_t kMaxBuildBytes = 128;
constexpr std::size_t kMaxNonceBytes = 64;

Json to_json(const Blob& blob) {
  return Json::binary({blob.begin(), blob.end()});
}

/// Names and versions by turns. More than ours may come from a later one.
constexpr std::size_t kMaxVersionTexts = 8 * kMaxVersions;

Json to_json(const std::map<std::string, std::string>& versions) {
  Json out = Json::array();
  for (const auto& [what, version] : versions) {
    if (out.size() >= 2 * kMaxVersions) break;
    out.push_back(printable(what, kMaxNameBytes));
    out.push_back(printable(version, kMaxBuildBytes));
  }
  return out;
}

std::map<std::string, std::string> versions_from(Fields& fields, const Json* field) {
  std::map<std::string, std::string> versions;
  std::string what;
  for (const Json& item : fields.array(field, kMaxVersionTexts)) {
    const std::string text = fields.text(&item, kMaxNameBytes, true);
    if (what.empty()) {
      what = text;
      continue;
    }
    if (versions.size() < kMaxVersions) versions[what] = text;
    what.clear();
  }
  return versions;
}

Json to_json(const Identity& from) {
  Json trouble;
  if (from.worker_trouble) trouble = model::name(*from.worker_trouble);
  return Json{{"name", from.name},
              {"incarnation", from.incarnation},
              {"version", from.version},
              {"build", from.build},
              {"advertised", from.advertised},
              {"view", from.view_hash},
              {"worker", model::name(from.worker)},
              {"worker_trouble", trouble},
              {"round_ms", from.round_ms},
              {"wall_offset_ms", from.wall_offset_ms},
              {"interval_ms", from.interval_ms},
              {"versions", to_json(from.versions)},
              {"cookie", from.cookie}};
}

Identity identity_from(Fields& fields) {
  Identity from;
  from.name = fields.text(fields.at("name"), kMaxNameBytes);
  from.incarnation = fields.text(fields.at("incarnation"), kMaxIncarnationBytes);
  from.version = fields.text(fields.at("version"), kMaxBuildBytes, true);
  from.build = fields.text(fields.at("build"), kMaxBuildBytes, true);
  from.advertised = fields.text(fields.at("advertised"), kMaxNameBytes, true);
  from.view_hash = fields.text(fields.at("view"), kMaxHashBytes, true);
  from.worker = fields.word(fields.at("worker"), model::WorkerState::absent);
  const Json* trouble = fields.at("worker_trouble");
  if (!fields.is_null(trouble)) {
    from.worker_trouble = model::parse<model::Reason>(fields.text(trouble, kMaxNameBytes));
  }
  from.round_ms = fields.integer<std::int64_t>(fields.at("round_ms"));
  from.wall_offset_ms = fields.integer<std::int64_t>(fields.at("wall_offset_ms"));
  // Appended after the first release of the protocol's version 1: older agents do not say it.
  if (const Json* interval = fields.at("interval_ms")) {
    from.interval_ms = fields.integer<std::int64_t>(interval, 0);
  }
  if (const Json* versions = fields.at("versions")) from.versions = versions_from(fields, versions);
  if (const Json* cookie = fields.at("cookie")) {
    from.cookie = fields.integer<std::uint64_t>(cookie);
  }
  return from;
}

std::vector<std::string> names_from(Fields& fields, const char* key) {
  std::vector<std::string> names;
  for (const Json& item : fields.array(fields.at(key), kMaxGroupMembers)) {
    names.push_back(fields.text(&item, kMaxNameBytes));
  }
  return names;
}

// --- bodies: put() writes one into the message, the readers below take it out ------------------

void put(Json& out, const Dial&) {
  out["type"] = "dial";
}
void put(Json& out, const MeetPair& body) {
  out["type"] = "meet_pair";
  out["blob"] = to_json(body.blob);
}
void put(Json& out, const MeetGroup& body) {
  out["type"] = "meet_group";
  out["group"] = body.group;
  out["context_id"] = body.context_id;
}
void put(Json& out, const MeetGroupBlob& body) {
  out["type"] = "meet_group_blob";
  out["context_id"] = body.context_id;
  out["blob"] = to_json(body.blob);
}
void put(Json& out, const WitnessMessage& body) {
  out["type"] = "witness";
  out["witness"] = witness_to_json(body);
}
void put(Json& out, const Left& body) {
  out["type"] = "left";
  out["reason"] = printable(body.reason, kMaxTextBytes);
}
void put(Json& out, std::monostate) {
  out["type"] = "here";
}
void put(Json& out, const PairMet& body) {
  out["type"] = "pair_met";
  out["context_id"] = body.context_id;
  out["blob"] = to_json(body.blob);
}
void put(Json& out, const GroupFixed& body) {
  out["type"] = "group_fixed";
  out["context_id"] = body.context_id;
  out["rank"] = body.rank;
  out["round"] = body.round;
  out["members"] = body.members;
  out["missing"] = body.missing;
  out["gentle"] = body.gentle ? 1 : 0;
}
void put(Json& out, const GroupMet& body) {
  out["type"] = "group_met";
  out["blobs"] = Json::array();
  for (const Blob& blob : body.blobs) out["blobs"].push_back(to_json(blob));
}
void put(Json& out, const Refusal& body) {
  out["type"] = "refusal";
  out["reason"] = model::name(body.reason);
  out["text"] = printable(body.text, kMaxTextBytes);
}

model::Result<decltype(Request::body)> request_body(Fields& fields, const std::string& type) {
  if (type == "dial") return Dial{};
  if (type == "meet_pair") return MeetPair{fields.blob(fields.at("blob"), kMaxBlobBytes)};
  if (type == "meet_group") {
    return MeetGroup{fields.text(fields.at("group"), kMaxHashBytes),
                     fields.text(fields.at("context_id"), kMaxContextIdBytes, true)};
  }
  if (type == "meet_group_blob") {
    return MeetGroupBlob{fields.text(fields.at("context_id"), kMaxContextIdBytes),
                         fields.blob(fields.at("blob"), kMaxBlobBytes)};
  }
  if (type == "left") return Left{fields.sentence(fields.at("reason"), kMaxTextBytes)};
  if (type == "witness") {
    auto witness = witness_from_json(fields.array(fields.at("witness"), kMaxGroupMembers));
    if (!witness) return model::fail(witness.error());
    return std::move(*witness);
  }
  return model::fail(model::ErrorCode::protocol, "unknown request");
}

model::Result<decltype(Reply::body)> reply_body(Fields& fields, const std::string& type) {
  if (type == "here") return std::monostate{};
  if (type == "pair_met") {
    return PairMet{fields.text(fields.at("context_id"), kMaxContextIdBytes),
                   fields.blob(fields.at("blob"), kMaxBlobBytes)};
  }
  if (type == "group_fixed") {
    GroupFixed fixed;
    fixed.context_id = fields.text(fields.at("context_id"), kMaxContextIdBytes);
    fixed.round = fields.integer<std::int64_t>(fields.at("round"));
    fixed.members = names_from(fields, "members");
    fixed.missing = names_from(fields, "missing");
    fixed.rank = fields.integer<std::int32_t>(fields.at("rank"), 0, kMaxGroupMembers - 1);
    // Appended: an older host does not send it.
    if (const Json* gentle = fields.at("gentle")) {
      fixed.gentle = fields.integer<std::uint8_t>(gentle, 0, 1) != 0;
    }
    const bool seated = static_cast<std::size_t>(fixed.rank) < fixed.members.size();
    if (!seated) fields.refuse("a rank below the number of members");
    return fixed;
  }
  if (type == "group_met") {
    GroupMet met;
    for (const Json& blob : fields.array(fields.at("blobs"), kMaxGroupMembers)) {
      met.blobs.push_back(fields.blob(&blob, kMaxBlobBytes));
    }
    return met;
  }
  if (type == "refusal") {
    Refusal refusal;
    // A later version's reason: all we can do with it is to try again, as after a timeout.
    refusal.reason = fields.word(fields.at("reason"), RefusalReason::timeout);
    refusal.text = fields.sentence(fields.at("text"), kMaxTextBytes);
    return refusal;
  }
  return model::fail(model::ErrorCode::protocol, "unknown reply");
}

template <typename Message>
Json envelope(const Message& message) {
  Json out = Json::object();
  out["v"] = message.v;
  out["from"] = to_json(message.from);
  std::visit([&](const auto& body) { put(out, body); }, message.body);
  return out;
}

/// Version, sender and body of either kind; `read_body` knows the types.
template <typename Message, typename ReadBody>
model::Result<Message> decode_message(const Json& json, const char* what, ReadBody read_body) {
  Fields fields(json);
  Message message;
  message.v = fields.integer<int>(fields.at("v"), 1, kMaxWireVersion);
  const std::string type = fields.text(fields.at("type"), kMaxTextBytes);
  const Json* from = fields.at("from");
  if (from == nullptr || !from->is_object()) fields.refuse("the sender");
  if (!fields.ok()) return model::fail(model::wrap(fields.error(), what));
  Fields sender(*from);
  message.from = identity_from(sender);
  if (!sender.ok()) return model::fail(model::wrap(sender.error(), what));
  auto body = read_body(fields, type);
  if (!body) return model::fail(model::wrap(body.error(), what));
  if (!fields.ok()) return model::fail(model::wrap(fields.error(), what + (" " + type)));
  message.body = std::move(*body);
  return message;
}

}  // namespace

std::uint32_t name_hash(std::string_view name) {
  std::uint32_t hash = 2166136261U;  // FNV-1a, 32 bits
  for (const char c : name) {
    hash ^= static_cast<unsigned char>(c);
    hash *= 16777619U;
  }
  return hash;
}

std::string encode(const Request& request) {
  Json out = envelope(request);
  out["nonce"] = request.nonce;
  if (request.shows != 0) out["shows"] = request.shows;
  return to_cbor(out);
}

std::string encode(const Reply& reply) {
  return to_cbor(envelope(reply));
}

model::Result<Request> decode_request(std::string_view body) {
  const auto parsed = parse_cbor(body);
  if (!parsed) return model::fail(model::wrap(parsed.error(), "request"));
  auto request = decode_message<Request>(*parsed, "request", request_body);
  if (!request) return request;
  Fields fields(*parsed);
  request->nonce = fields.text(fields.at("nonce"), kMaxNonceBytes);
  if (const Json* shows = fields.at("shows")) request->shows = fields.integer<std::uint64_t>(shows);
  if (!fields.ok()) return model::fail(model::wrap(fields.error(), "request"));
  return request;
}

model::Result<Reply> decode_reply(std::string_view body) {
  const auto parsed = parse_cbor(body);
  if (!parsed) return model::fail(model::wrap(parsed.error(), "reply"));
  return decode_message<Reply>(*parsed, "reply", reply_body);
}

}  // namespace collwatch::peer
