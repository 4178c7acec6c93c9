// SPDX-License-Identifier: Apache-2.0
//
// The effective configuration as typed values: what daemon/config/load produced from file,
// environment and flags, validated. Defaults here are the defaults; configs/collwatch.yaml is the
// manual and a test holds the two together. Pure data.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "probes/model/vocabulary.h"

namespace collwatch::config {

using Millis = std::chrono::milliseconds;

/// host:port, host numeric or a name; "[::]:9782" for IPv6.
struct Endpoint {
  std::string host;
  std::uint16_t port = 0;
  bool operator==(const Endpoint&) const = default;
};

struct Member {
  std::string name;
  Endpoint address;  ///< defaults to the name and port 9782
  std::map<std::string, std::string> labels;
  bool operator==(const Member&) const = default;
};

struct Config {
  std::string file;  ///< where it came from; empty when only flags and environment
  /// Sentences to log once after loading: accepted, but unwise or without effect.
  std::vector<std::string> warnings;

  std::string node;  ///< resolved: never "auto"
  Endpoint listen{"127.0.0.1", 9781};

  struct Http {
    std::string auth_file;
    struct User {
      std::string name;
      std::string password_hash;  ///< never printed
      bool operator==(const User&) const = default;
    };
    std::vector<User> users;  ///< contents of auth_file; none: everybody may read
    std::string diagnose = "auto";
  } http;

  struct Network {
    std::string interface = "auto";
    std::string family = "auto";  ///< auto, ipv4, ipv6
    std::string address = "auto";
  } network;

  struct Peers {
    Endpoint listen{"::", 9782};
    std::string token_file;
    std::string token;  ///< contents of token_file, trailing newline removed; never printed
    bool insecure = false;
  } peers;

  struct Membership {
    std::vector<Member> members;  ///< sorted by name, this node included
    std::string file;             ///< set for membership.file: watched
    Millis join_grace{30000};
  } membership;

  struct Labels {
    std::string cluster, rack, rail;
  } labels;

  struct EdgeProbe {
    Millis interval{1000};
    Millis timeout{500};
    std::vector<std::uint32_t> payloads{64, 1025, 8193, 65536};
  } edge;

  struct GlooProbe {
    Millis interval{10000};
    Millis timeout{3000};
    std::vector<model::Collective> collectives{
        model::Collective::barrier, model::Collective::allreduce, model::Collective::broadcast,
        model::Collective::allgather, model::Collective::alltoall};
    std::vector<std::uint32_t> sizes{4, 1048576};
  } gloo;

  struct NcclProbe {
    std::string mode = "never";  ///< never, preflight, idle, always
    std::string library = "auto";
    Millis interval{300000};
    Millis timeout{10000};
    std::vector<std::uint32_t> sizes{4, 1048576};
  } nccl;

  struct Rendezvous {
    Millis interval{300000};
    std::vector<std::string> stores{"agent"};
    std::string file_path;  ///< a folder that all members share; empty: none
  } rendezvous;

  struct C10dProbe {
    std::string mode = "start";  ///< never, start
  } c10d;

  /// A pattern of log files; %h in it is the host name.
  struct WatchedLog {
    std::string glob;
    std::uint64_t max_bytes_per_second = 20000000;
    bool operator==(const WatchedLog&) const = default;
  };
  struct Watch {
    std::vector<WatchedLog> logs;
    std::uint64_t max_bytes_per_second = 40000000;  ///< of all logs together
    std::string fingerprints;                       ///< a file over the catalogue; empty: none
    std::uint64_t fingerprints_hash = 0;            ///< of what it holds, so that a reload sees it
    bool kernel = true;
    Millis processes{15000};  ///< between two looks; 0: never
    std::string ras_mode = "never";
    Endpoint ras_address{"127.0.0.1", 28028};
    bool operator==(const Watch&) const = default;
  } watch;

  struct Events {
    std::string path;
    std::uint64_t max_bytes = 64ULL << 20;
  } events;

  struct Limits {
    std::uint64_t memory = 64ULL << 20;
    int suspects = 16;
  } limits;
};

}  // namespace collwatch::config
