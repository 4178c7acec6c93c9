// SPDX-License-Identifier: Apache-2.0
//
// What addresses, paths, users and hosts look like in the text of a log. Private to
// daemon/diagnose, used by redact.cpp; pure.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace collwatch::diagnose {

bool is_word(char c);

/// Length of an IPv4, IPv6 or hardware address at `at`, or 0. Loopback and "any" tell nothing about
/// a machine and are left alone.
std::size_t address_at(std::string_view text, std::size_t at);

/// Length of an absolute path (also ~/x, ~user/x, C:\x\y) with at least two parts, or 0.
std::size_t path_at(std::string_view text, std::size_t at);

/// Length of a user's number at `at` ("UID:1000"), or 0.
std::size_t uid_at(std::string_view text, std::size_t at);

/// Length of a list of hosts at `at`, as Slurm folds them ("NodeList=gpu[01-04,7]"), or 0.
std::size_t host_list_at(std::string_view text, std::size_t at);

/// Names that the text says to be hosts: "[node-a]:29500", "tcp://node-a:29500", "alice@node-a",
/// "MASTER_ADDR=node-a", "srun: error: node-a: task 3", "ON node-a CANCELLED", ...
std::vector<std::string> hosts_in(std::string_view text);

/// Likewise users: "/home/alice/x", "user=alice", "alice@node-a", ...
std::vector<std::string> users_in(std::string_view text);

}  // namespace collwatch::diagnose
