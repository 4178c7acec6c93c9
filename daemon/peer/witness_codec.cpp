// SPDX-License-Identifier: Apache-2.0
//
// The positions of a witness message's fields, in one enum each for message and edge.
#include "daemon/peer/witness_codec.h"

#include <algorithm>

namespace collwatch::peer {

namespace {

using attribute::EdgeState;
using attribute::Heard;

// Appended to, never reordered: these are the wire format.
enum Position : std::size_t {
  kVersion,
  kFrom,
  kIncarnation,
  kTo,
  kSequence,
  kRoundMs,
  kWallOffsetMs,
  kEchoRoundMs,
  kEchoAgeMs,
  kRound,
  kLocalHealth,
  kFlags,
  kWorker,
  kWorkerTrouble,
  kView,
  kEdges,
  kShows
};
enum EdgePosition : std::size_t {
  kPeer,
  kState,
  kOutcome,
  kEdgeRound,
  kFailingSince,
  kFailedRounds,
  kOkRounds,
  kInbound,
  kReason,
  kHeardAgeMs,
  kLateMs,
  kLost
};

constexpr unsigned kCutOff = 1;
constexpr unsigned kLeft = 2;
constexpr unsigned kLate = 4;
constexpr std::int32_t kWorstHealth = 8;
constexpr std::size_t kEdgeStates = static_cast<std::size_t>(EdgeState::failing) + 1;
constexpr std::size_t kHeards = static_cast<std::size_t>(Heard::silent) + 1;

template <typename E>
int index(E value) {
  return static_cast<int>(value);
}

Json reason_to_json(const std::optional<model::Reason>& reason) {
  Json number;
  if (reason) number = index(*reason);
  return number;
}

/// Nothing for none, and for one that only a later version knows.
std::optional<model::Reason> reason_from_json(Fields& fields, const Json* field) {
  if (fields.is_null(field)) return std::nullopt;
  const auto number = fields.integer<std::uint8_t>(field);
  if (number >= model::kCount<model::Reason>) return std::nullopt;
  return static_cast<model::Reason>(number);
}

Json edge_to_json(const WitnessMessage::Edge& edge) {
  const attribute::EdgeWord& word = edge.word;
  return Json::array({edge.peer, index(word.state), index(word.outcome), word.round,
                      word.failing_since, word.failed_rounds, word.ok_rounds, index(word.inbound),
                      reason_to_json(word.reason), edge.heard_age_ms, word.late_ms, word.lost});
}

WitnessMessage::Edge edge_from_json(Fields& fields) {
  WitnessMessage::Edge edge;
  attribute::EdgeWord& word = edge.word;
  edge.peer = fields.integer<std::uint32_t>(fields.at(kPeer));
  word.state = fields.number(fields.at(kState), kEdgeStates, EdgeState::unknown);
  word.outcome =
      fields.number(fields.at(kOutcome), model::kCount<model::Outcome>, model::Outcome::error);
  word.round = fields.integer<std::int64_t>(fields.at(kEdgeRound));
  word.failing_since = fields.integer<std::int64_t>(fields.at(kFailingSince));
  word.failed_rounds = fields.integer<std::int32_t>(fields.at(kFailedRounds), 0);
  word.ok_rounds = fields.integer<std::int32_t>(fields.at(kOkRounds), 0);
  word.inbound = fields.number(fields.at(kInbound), kHeards, Heard::unknown);
  word.reason = reason_from_json(fields, fields.at(kReason));
  edge.heard_age_ms = fields.integer<std::int64_t>(fields.at(kHeardAgeMs), -1);
  // Appended: an older agent's edges end before them.
  if (const Json* late = fields.at(kLateMs)) word.late_ms = fields.integer<std::int16_t>(late, 0);
  if (const Json* lost = fields.at(kLost)) word.lost = fields.integer<std::int8_t>(lost, -1);
  return edge;
}

}  // namespace

Json witness_to_json(const WitnessMessage& message) {
  Json edges = Json::array();
  for (const auto& edge : message.edges) edges.push_back(edge_to_json(edge));
  Json echo;
  if (message.echo_round_ms) echo = *message.echo_round_ms;
  const unsigned flags = (message.cut_off ? kCutOff : 0U) | (message.left ? kLeft : 0U) |
                         (message.late ? kLate : 0U);
  return Json::array({kWireVersion, message.from, message.incarnation, message.to, message.sequence,
                      message.round_ms, message.wall_offset_ms, echo, message.echo_age_ms,
                      message.round, message.local_health, flags, index(message.worker),
                      reason_to_json(message.worker_trouble), message.view, std::move(edges),
                      message.shows});
}

model::Result<WitnessMessage> witness_from_json(const Json& array) {
  Fields fields(array);
  WitnessMessage message;
  fields.integer<int>(fields.at(kVersion), 1, kMaxWireVersion);
  message.from = fields.text(fields.at(kFrom), kMaxNameBytes);
  message.incarnation = fields.text(fields.at(kIncarnation), kMaxIncarnationBytes);
  message.to = fields.integer<std::uint32_t>(fields.at(kTo));
  message.sequence = fields.integer<std::uint64_t>(fields.at(kSequence));
  message.round_ms = fields.integer<std::int64_t>(fields.at(kRoundMs));
  message.wall_offset_ms = fields.integer<std::int64_t>(fields.at(kWallOffsetMs));
  const Json* echo = fields.at(kEchoRoundMs);
  if (!fields.is_null(echo)) message.echo_round_ms = fields.integer<std::int64_t>(echo);
  message.echo_age_ms = fields.integer<std::int64_t>(fields.at(kEchoAgeMs));
  message.round = fields.integer<std::int64_t>(fields.at(kRound));
  const auto health = fields.integer<std::int32_t>(fields.at(kLocalHealth), 0);
  message.local_health = std::min(health, kWorstHealth);
  const auto flags = fields.integer<std::uint32_t>(fields.at(kFlags));
  message.cut_off = (flags & kCutOff) != 0;
  message.left = (flags & kLeft) != 0;
  message.late = (flags & kLate) != 0;
  message.worker = fields.number(fields.at(kWorker), model::kCount<model::WorkerState>,
                                 model::WorkerState::absent);
  message.worker_trouble = reason_from_json(fields, fields.at(kWorkerTrouble));
  message.view = fields.integer<std::uint32_t>(fields.at(kView));
  for (const Json& item : fields.array(fields.at(kEdges), kMaxWitnessEdges)) {
    Fields edge(item);
    message.edges.push_back(edge_from_json(edge));
    if (!edge.ok()) return model::fail(model::wrap(edge.error(), "witness edge"));
  }
  if (const Json* shows = fields.at(kShows)) message.shows = fields.integer<std::uint64_t>(shows);
  if (!fields.ok()) return model::fail(model::wrap(fields.error(), "witness"));
  return message;
}

std::string encode(const WitnessMessage& message) {
  return to_cbor(witness_to_json(message));
}

model::Result<WitnessMessage> decode_witness(std::string_view body) {
  const auto parsed = parse_cbor(body);
  if (!parsed) return model::fail(parsed.error());
  return witness_from_json(*parsed);
}

}  // namespace collwatch::peer
