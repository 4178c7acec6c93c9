// SPDX-License-Identifier: Apache-2.0
//
// Looks at standard output and the environment.
#include "daemon/cli/terminal.h"

#include <unistd.h>

#include <cstdlib>
#include <string_view>

namespace collwatch::cli {

Colour colour_of_stdout() {
  const char* const no_colour = std::getenv("NO_COLOR");
  const char* const terminal = std::getenv("TERM");
  const bool unwanted = no_colour != nullptr && *no_colour != '\0';
  const bool dumb = terminal != nullptr && std::string_view(terminal) == "dumb";
  return isatty(STDOUT_FILENO) == 1 && !unwanted && !dumb ? Colour::yes : Colour::no;
}

}  // namespace collwatch::cli
