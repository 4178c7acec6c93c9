// SPDX-License-Identifier: Apache-2.0
//
// What came from outside (names of files, an agent's words, a process's arguments) as it may go to
// a terminal, into a line of a report or a ticket. Used by whoever prints text; pure.
#pragma once

#include <string>
#include <string_view>

namespace collwatch::logs {

enum class Lines {
  escape,  ///< a line end is escaped, too: the text is one line
  keep     ///< line ends stay, of texts that may have some
};

/// Control characters, invalid UTF-8 and whatever changes the direction of writing become visible:
/// "\x1b", "\n", "\u{202e}". All else stays as it is, "\" too.
std::string shown(std::string_view text, Lines lines = Lines::escape);

/// Length of the valid UTF-8 sequence at `at`, or 0.
std::size_t utf8_length(std::string_view text, std::size_t at);

}  // namespace collwatch::logs
