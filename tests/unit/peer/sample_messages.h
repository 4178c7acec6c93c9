// SPDX-License-Identifier: Apache-2.0
//
// Messages with every field away from its default, for the tests of codec and sockets.
#pragma once

#include <cstdint>
#include <limits>
#include <string>

#include "daemon/peer/message.h"

namespace samples {

namespace peer = collwatch::peer;
namespace model = collwatch::model;
namespace attribute = collwatch::attribute;

inline peer::Identity identity(const std::string& name = "node-a") {
  peer::Identity from;
  from.name = name;
  from.incarnation = "b007-1d-" + name;
  from.version = "0.1.0";
  from.build = "gloo-0.5.0/136";
  from.advertised = "10.0.0.1";
  from.view_hash = "0123abcd";
  from.worker = model::WorkerState::running;
  from.worker_trouble = model::Reason::worker_crash;
  from.round_ms = 1'700'000'000'123;
  from.wall_offset_ms = -3600;
  from.interval_ms = 1000;
  from.versions = {{"NVIDIA driver", "535.129.03"}, {"libtorch of the system", "2.6.0"}};
  from.cookie = 0xfedcba9876543210;
  return from;
}

inline peer::Request request(decltype(peer::Request::body) body) {
  peer::Request request;
  request.from = identity();
  request.nonce = "00112233445566778899aabbccddeeff";
  request.shows = 0xfedcba9876543211;
  request.body = std::move(body);
  return request;
}

inline peer::Reply reply(decltype(peer::Reply::body) body) {
  peer::Reply reply;
  reply.from = identity("node-b");
  reply.body = std::move(body);
  return reply;
}

inline peer::WitnessMessage::Edge edge(const std::string& peer_name) {
  peer::WitnessMessage::Edge edge;
  edge.peer = peer::name_hash(peer_name);
  edge.word.state = attribute::EdgeState::failing;
  edge.word.outcome = model::Outcome::peer_lost;
  edge.word.round = 1'700'000'000;
  edge.word.failing_since = 1'699'999'999;
  edge.word.failed_rounds = 2;
  edge.word.ok_rounds = 0;
  edge.word.inbound = attribute::Heard::silent;
  edge.word.reason = model::Reason::host_stall;
  edge.heard_age_ms = 900;
  edge.word.late_ms = 80;
  edge.word.lost = 4;
  return edge;
}

inline peer::WitnessMessage witness(const std::string& from = "node-a",
                                    const std::string& to = "node-b") {
  peer::WitnessMessage message;
  message.from = from;
  message.incarnation = "b007-1d-" + from;
  message.to = peer::name_hash(to);
  message.sequence = 7;
  message.round_ms = 1'700'000'000'123;
  message.wall_offset_ms = -12;
  message.echo_round_ms = 1'700'000'000'100;
  message.echo_age_ms = 23;
  message.round = 1'700'000'000;
  message.local_health = 3;
  message.late = true;
  message.cut_off = true;
  message.left = true;
  message.worker = model::WorkerState::stuck;
  message.worker_trouble = model::Reason::worker_stuck;
  message.view = 0xdeadbeef;
  message.edges = {edge("node-b"), edge("node-c")};
  message.shows = 17;
  return message;
}

/// Nothing in it could take more bytes: longest names, widest numbers, `edges` edges.
inline peer::WitnessMessage widest_witness(std::size_t edges) {
  constexpr auto kWide = std::numeric_limits<std::int64_t>::min();
  peer::WitnessMessage message = witness(std::string(63, 'n'));
  message.incarnation = std::string(64, 'f');
  message.to = 0xffffffff;
  message.sequence = message.shows = std::numeric_limits<std::uint64_t>::max();
  message.round_ms = message.wall_offset_ms = message.echo_age_ms = message.round = kWide;
  message.echo_round_ms = kWide;
  message.local_health = 8;
  message.worker_trouble = model::Reason::store_down;
  message.view = 0xffffffff;
  peer::WitnessMessage::Edge widest = edge("x");
  widest.peer = 0xffffffff;
  widest.word.outcome = model::Outcome::error;
  widest.word.round = widest.word.failing_since = kWide;
  widest.word.failed_rounds = widest.word.ok_rounds = std::numeric_limits<std::int32_t>::max();
  widest.word.reason = model::Reason::store_down;
  widest.heard_age_ms = std::numeric_limits<std::int64_t>::max();
  widest.word.late_ms = std::numeric_limits<std::int16_t>::max();
  widest.word.lost = 40;
  message.edges.assign(edges, widest);
  return message;
}

}  // namespace samples
