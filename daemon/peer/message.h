// SPDX-License-Identifier: Apache-2.0
//
// What agents say to each other on the peer port, as plain structs and their codec. Pure, fuzzed,
// never throws; specified in docs/peer-protocol.md. Two carriers:
//
//   TCP   server: Challenge frame (nonce)  ->  client: Request frame  ->  server: Reply frame.
//         A frame is a 4-byte big-endian length, a 32-byte HMAC-SHA256 and a CBOR body of at most
//         64 KiB. The request's MAC covers the server's nonce, the reply's covers the client's, so
//         that neither can be replayed; compared in constant time.
//   UDP   one WitnessMessage a datagram: CBOR body + 16-byte truncated HMAC, at most 600 B for
//         seven peers. Replay-safe by (incarnation, sequence): a receiver takes a sequence number
//         once, and an incarnation only after it was met over TCP.
//
// Every message carries the wire version; unknown fields are ignored. Peers are named by the 32-bit
// FNV-1a hash of their name inside datagrams (name_hash), by name elsewhere.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "daemon/attribute/evidence.h"
#include "probes/model/result.h"
#include "probes/model/vocabulary.h"

namespace collwatch::peer {

inline constexpr int kWireVersion = 1;
inline constexpr std::size_t kMaxFrameBytes = 64 * 1024;
inline constexpr std::size_t kMaxDatagramBytes = 1400;

// Caps on what a message may hold; a decoder refuses more, an encoder's caller keeps within them.
inline constexpr std::size_t kMaxNameBytes = 255;
inline constexpr std::size_t kMaxIncarnationBytes = 128;
inline constexpr std::size_t kMaxContextIdBytes = 192;
inline constexpr std::size_t kMaxBlobBytes = 4096;
inline constexpr std::size_t kMaxTextBytes = 512;  ///< sentences; longer ones are cut when encoded
inline constexpr std::size_t kMaxGroupMembers = 64;
inline constexpr std::size_t kMaxVersions = 24;
inline constexpr std::size_t kMaxWitnessEdges = 22;

using Blob = std::vector<char>;

std::uint32_t name_hash(std::string_view name);

/// Who speaks: in every request and reply.
struct Identity {
  std::string name;
  std::string incarnation;  ///< boot id + start time + random, hex; differs after every restart
  std::string version;      ///< collwatch's
  std::string build;        ///< its worker's Gloo build; empty while it has none
  std::string advertised;   ///< numeric address its member entry gives, empty if a name
  std::string view_hash;    ///< of its configured member list
  model::WorkerState worker = model::WorkerState::absent;
  /// What was wrong with its last worker (worker_crash, worker_stuck), while that is recent.
  std::optional<model::Reason> worker_trouble;
  std::int64_t round_ms = 0;        ///< its round clock now
  std::int64_t wall_offset_ms = 0;  ///< its wall clock minus its round clock
  std::uint64_t cookie = 0;         ///< for the receiver to show from now on; 0: none
  std::int64_t interval_ms = 0;     ///< of its rounds; 0: it did not say
  /// What it and its jobs run, by the name of what it is: at most kMaxVersions.
  std::map<std::string, std::string> versions;
};

/// "Are you there, and how is your worker?" Answered at once with an empty Reply.
struct Dial {};

/// Meeting for a two-member context. Sent by the higher name to the lower name's peer port, with
/// the Gloo address that its worker published. Answered with PairMet, or Refusal.
struct MeetPair {
  Blob blob;
};
struct PairMet {
  std::string context_id;  ///< never reused
  Blob blob;               ///< the lower name's Gloo address
};

/// First half of a group meeting: "I will take part in the collectives of this round's group".
/// Collected for at most 300 ms from the first joiner, then everybody is answered with GroupFixed.
struct MeetGroup {
  std::string group;       ///< names the group: view hash of its configured members
  std::string context_id;  ///< the group context this joiner still holds; empty: none
};
struct GroupFixed {
  std::string context_id;
  std::int32_t rank = 0;
  std::int64_t round = 0;            ///< the host's: all members run what it prescribes
  std::vector<std::string> members;  ///< by rank
  std::vector<std::string> missing;
  bool gentle = false;  ///< the host knows of a weak path: run the smallest size only
};
/// Second half: my Gloo address for that context. Answered with GroupMet when all are in, or
/// Refusal after 300 ms.
struct MeetGroupBlob {
  std::string context_id;
  Blob blob;
};
struct GroupMet {
  std::vector<Blob> blobs;  ///< by rank
};

/// "I am leaving on purpose"; peers stop expecting me. Also sent as a datagram
/// (WitnessMessage.left).
struct Left {
  std::string reason;
};

/// Why a meeting did not come about.
enum class RefusalReason {
  unknown_member,   ///< you are not in my member list
  build_mismatch,   ///< our Gloo builds cannot share a context
  config_mismatch,  ///< our rounds are not equally long
  no_worker,        ///< my worker is not running
  superseded,       ///< a newer meeting of the same pair or group came in
  timeout,          ///< the others' part did not come in time
  duplicate_name,   ///< another live incarnation has your name
  not_in_group,
  shutting_down
};
struct Refusal {
  RefusalReason reason = RefusalReason::timeout;
  std::string text;
};

/// The words about one's own edges, where UDP does not work: same content as the datagram.
struct WitnessMessage {
  std::string from;
  std::string incarnation;
  /// name_hash of the receiver: a datagram captured on its way to one member is no good at another.
  std::uint32_t to = 0;
  std::uint64_t sequence = 0;
  std::int64_t round_ms = 0;
  std::int64_t wall_offset_ms = 0;
  /// For the receiver alone: its round_ms as last heard, and how long ago (NTP's four timestamps).
  std::optional<std::int64_t> echo_round_ms;
  std::int64_t echo_age_ms = 0;
  std::int64_t round = 0;
  std::int32_t local_health = 0;
  bool late = false;  ///< the sender's own timers ran late a moment ago
  bool cut_off = false;
  bool left = false;
  model::WorkerState worker = model::WorkerState::absent;
  std::optional<model::Reason> worker_trouble;  ///< as in Identity
  std::uint32_t view = 0;                       ///< first 32 bits of the view hash
  struct Edge {
    std::uint32_t peer = 0;          ///< name_hash
    attribute::EdgeWord word;        ///< word.peer is not sent; the receiver fills it in
    std::int64_t heard_age_ms = -1;  ///< since this peer's witness was last heard; -1 never
  };
  std::vector<Edge> edges;
  std::uint64_t shows = 0;  ///< the cookie that the receiver once gave the sender
};

struct Request {
  int v = kWireVersion;
  Identity from;
  std::string nonce{};      ///< hex; the reply's MAC covers it
  std::uint64_t shows = 0;  ///< the cookie that the receiver once gave the sender; 0: none
  std::variant<Dial, MeetPair, MeetGroup, MeetGroupBlob, WitnessMessage, Left> body{};
};

struct Reply {
  int v = kWireVersion;
  Identity from;
  std::variant<std::monostate, PairMet, GroupFixed, GroupMet, Refusal> body{};
};

std::string encode(const Request& request);
std::string encode(const Reply& reply);
std::string encode(const WitnessMessage& message);
model::Result<Request> decode_request(std::string_view body);
model::Result<Reply> decode_reply(std::string_view body);
model::Result<WitnessMessage> decode_witness(std::string_view body);

}  // namespace collwatch::peer

namespace collwatch::model {
template <>
struct Names<peer::RefusalReason> {
  static constexpr auto value = std::to_array<std::string_view>(
      {"unknown_member", "build_mismatch", "config_mismatch", "no_worker", "superseded", "timeout",
       "duplicate_name", "not_in_group", "shutting_down"});
};
}  // namespace collwatch::model
