// SPDX-License-Identifier: Apache-2.0
//
// fork and exec with stdout and stderr in temporary files, so that neither can fill a pipe.
#include "tests/integration/cli/program.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

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

}  // namespace

Ran run_collwatch(const std::vector<std::string>& arguments,
                  const std::map<std::string, std::string>& environment) {
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
    dup2(fileno(out), STDOUT_FILENO);
    dup2(fileno(err), STDERR_FILENO);
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

}  // namespace collwatch::test
