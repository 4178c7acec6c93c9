// SPDX-License-Identifier: Apache-2.0
//
// Looks at standard output and the environment.
#include "daemon/cli/terminal.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <string_view>
#include <system_error>

#include "daemon/logs/shown.h"

namespace collwatch::cli {

Colour colour_of_stdout() {
  const char* const no_colour = std::getenv("NO_COLOR");
  const char* const terminal = std::getenv("TERM");
  const bool unwanted = no_colour != nullptr && *no_colour != '\0';
  const bool dumb = terminal != nullptr && std::string_view(terminal) == "dumb";
  return isatty(STDOUT_FILENO) == 1 && !unwanted && !dumb ? Colour::yes : Colour::no;
}

void hold_standard_streams() {
  for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; ++fd) {
    if (fcntl(fd, F_GETFD) != -1 || errno != EBADF) continue;
    // The lowest free number is this one. What is only for reading cannot be written to.
    const int opened = ::open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY);
    if (opened != fd && opened >= 0) ::close(opened);
  }
}

std::string why_not_printed() {
  errno = 0;
  std::cout.flush();
  const bool flushed = std::fflush(stdout) == 0;
  if (flushed && std::cout.good() && std::ferror(stdout) == 0) return "";
  const int error = errno;
  return "standard output cannot be written, what stands there is not all" +
         (error != 0 ? ": " + std::generic_category().message(error) : std::string());
}

void complain(const std::string& text) {
  std::cerr << "collwatch: " << logs::shown(text, logs::Lines::keep) << "\n";
}

}  // namespace collwatch::cli
