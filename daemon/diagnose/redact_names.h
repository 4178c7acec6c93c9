// SPDX-License-Identifier: Apache-2.0
//
// Which words of a file's name or of a sentence may stand and which are somebody's: the names of
// hosts are often ordinary words. Private to daemon/diagnose, used by redact.cpp; pure.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

namespace collwatch::diagnose {

std::string lower_case(std::string_view text);

/// Letters, and a digit or a hyphen: no word of a sentence.
bool is_sure_name(std::string_view name);

/// A word that sentences about training are made of, or a number: as the name of a host it is known
/// only by what stands around it.
bool is_ordinary(std::string_view name);

/// Whether the ordinary word from `at` to `end` stands where only a host does: "node a", "a:29500",
/// "a<->b", "[a]".
bool stands_as_host(std::string_view text, std::size_t at, std::size_t end);

/// Goes over the name of a file (without its folder) and calls `part` with each piece in order:
/// what says whose log it is (rank3, stderr, attempt_0, .log) as ordinary, everything else as a
/// name.
void each_part(std::string_view file_name,
               const std::function<void(std::string_view, bool is_name)>& part);

}  // namespace collwatch::diagnose
