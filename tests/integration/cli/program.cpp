// SPDX-License-Identifier: Apache-2.0
//
// fork and exec with stdout and stderr in temporary files, so that neither can fill a pipe.
#include "tests/integration/cli/program.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <thread>

extern char** environ;

namespace collwatch::test {
namespace {

std::string contents(std::FILE* file) {
  std::string text;
  std::rewind(file);
  for (int c = std::fgetc(file); c != EOF; c = std::fgetc(file)) text += static_cast<char>(c);
  std::fclose(file);
  return text;
}

/// Runs it with `input_fd` as its standard input (-1: the caller's own); `onto` as its standard
/// output (null: kept, empty: closed).
Ran run(const std::vector<std::string>& arguments,
        const std::map<std::string, std::string>& environment, int input_fd,
        const char* onto = nullptr) {
  std::vector<std::string> words = {COLLWATCH_BINARY_DIR "/collwatch"};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<std::string> variables = {"TZ=UTC"};
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string text = *entry;
    if (!text.starts_with("COLLWATCH_") && !text.starts_with("TZ=")) variables.push_back(text);
  }
  for (const auto& [name, value] : environment) variables.push_back(name + "=" + value);
  std::vector<char*> argv;
  std::vector<char*> envp;
  for (std::string& word : words) argv.push_back(word.data());
  for (std::string& variable : variables) envp.push_back(variable.data());
  argv.push_back(nullptr);
  envp.push_back(nullptr);

  std::FILE* const out = std::tmpfile();
  std::FILE* const err = std::tmpfile();
  if (out == nullptr || err == nullptr) std::abort();
  const pid_t child = fork();
  if (child == 0) {
    alarm(30);  // a hung program must not hang the test
    if (input_fd >= 0) dup2(input_fd, STDIN_FILENO);
    dup2(fileno(out), STDOUT_FILENO);
    dup2(fileno(err), STDERR_FILENO);
    if (onto != nullptr) {
      close(STDOUT_FILENO);
      if (*onto != '\0') open(onto, O_WRONLY);
    }
    execve(argv[0], argv.data(), envp.data());
    _exit(127);
  }
  int status = 0;
  if (child < 0 || waitpid(child, &status, 0) != child) std::abort();
  Ran ran;
  ran.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  ran.out = contents(out);
  ran.err = contents(err);
  return ran;
}

}  // namespace

Ran run_collwatch(const std::vector<std::string>& arguments,
                  const std::map<std::string, std::string>& environment) {
  return run(arguments, environment, -1);
}

Ran run_collwatch_onto(const std::string& output, const std::vector<std::string>& arguments) {
  return run(arguments, {}, -1, output.c_str());
}

Ran run_collwatch_with_input(const std::vector<std::string>& arguments, const std::string& input) {
  std::array<int, 2> ends{};
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) std::abort();
  std::thread feeder([&input, fd = ends[1]] {
    for (std::size_t sent = 0; sent < input.size();) {
      const ssize_t got = send(fd, input.data() + sent, input.size() - sent, MSG_NOSIGNAL);
      if (got <= 0) break;
      sent += static_cast<std::size_t>(got);
    }
    shutdown(fd, SHUT_WR);
  });
  Ran ran = run(arguments, {}, ends[0]);
  close(ends[0]);
  feeder.join();
  close(ends[1]);
  return ran;
}

}  // namespace collwatch::test
