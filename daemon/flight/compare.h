// SPDX-License-Identifier: Apache-2.0
//
// Whether all ranks called the same collective under one number, and who did not. What legally
// differs between ranks (the root of a scatter, uneven gathers, split sizes of an all-to-all) is no
// difference. Used by analyse().
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "daemon/flight/group_view.h"

namespace collwatch::flight {

struct Vote {
  const Member* member;
  const Item* item;
};

struct Difference {
  std::string what;                               ///< "operation", "size", "type"
  std::map<std::string, std::set<int>> opinions;  ///< as people read it -> the ranks
  std::set<int> odd;  ///< who is not of the majority's opinion; empty where there is none
};

std::optional<Difference> difference_of(const std::vector<Vote>& votes, bool is_everybody_here,
                                        const Words& words);

/// "all_reduce of [[16]] Float", for people.
std::string described(const Item& item, const Words& words);

/// "all_reduce" of "nccl:all_reduce".
std::string short_name(const std::string& op);

}  // namespace collwatch::flight
