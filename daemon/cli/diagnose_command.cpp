// SPDX-License-Identifier: Apache-2.0
//
// `diagnose`: logs in, a verdict out. Exit codes: 0 nothing found, 1 a diagnosis, 2 input that
// cannot be read.
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <optional>
#include <utility>

#include "daemon/cli/agent_url.h"
#include "daemon/cli/catalogue_files.h"
#include "daemon/cli/commands.h"
#include "daemon/cli/probes_word.h"
#include "daemon/cli/terminal.h"
#include "daemon/diagnose/diagnose.h"
#include "daemon/diagnose/print.h"

namespace collwatch::cli {
namespace {

constexpr int kNothingFound = 0;
constexpr int kDiagnosed = 1;
constexpr int kUnreadable = 2;
constexpr long kProgressEvery = 64L << 20;

constexpr std::size_t kToldUnread = 8;

int unreadable(const std::string& text) {
  complain(text);
  return kUnreadable;
}

/// Of a single log the diagnosis itself says it.
void tell_unread(const diagnose::Diagnosis& diagnosis) {
  if (diagnosis.scanned.files < 2) return;
  std::cout.flush();
  const std::size_t told = std::min(diagnosis.unread.size(), kToldUnread);
  for (std::size_t i = 0; i < told; ++i) complain("not read: " + diagnosis.unread[i]);
  if (told < diagnosis.unread.size())
    complain("and " + std::to_string(diagnosis.unread.size() - told) + " more are not read");
}

/// On long input, a line that counts on the terminal; it is wiped at the end.
class ProgressLine {
 public:
  explicit ProgressLine(bool wanted) : wanted_(wanted) {}
  ~ProgressLine() {
    if (shown_) std::cerr << "\r\x1b[K";
  }
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  void at(long bytes) {
    if (!wanted_ || bytes - last_ < kProgressEvery) return;
    last_ = bytes;
    shown_ = true;
    std::cerr << "\r" << (bytes >> 20) << " MiB read" << std::flush;
  }

 private:
  bool wanted_;
  bool shown_ = false;
  long last_ = 0;
};

void print(const diagnose::Diagnosis& diagnosis, const diagnose::Engine& engine,
           DiagnoseFormat format) {
  switch (format) {
    case DiagnoseFormat::json:
      std::cout << diagnose::to_json(diagnosis) << "\n";
      break;
    case DiagnoseFormat::markdown:
      std::cout << diagnose::to_markdown(diagnosis, engine.catalogue());
      break;
    case DiagnoseFormat::text:
      std::cout << diagnose::to_text(diagnosis, engine.catalogue(),
                                     colour_of_stdout() == Colour::yes);
      break;
  }
}

}  // namespace

int run_diagnose(const DiagnoseOptions& options) {
  if (options.agent && options.agent->empty()) return unreadable("--agent: names no agent");
  if (const std::string why = why_refused(options.agent.value_or("")); !why.empty())
    return unreadable(why);
  std::vector<std::string> inputs = options.inputs;
  if (inputs.empty()) {
    if (isatty(STDIN_FILENO) == 1)
      return unreadable("name a log file or a folder, or pipe a log in");
    inputs.emplace_back("-");
  }
  auto sources = logs::find_sources(inputs);
  if (!sources) return unreadable(sources.error().text);
  if (sources->empty()) return unreadable("there is no log in what was given");
  auto catalogue = catalogue_with(options.fingerprints);
  if (!catalogue) return unreadable(catalogue.error().text);
  const auto engine = diagnose::Engine::build(std::move(*catalogue));
  if (!engine) return unreadable(engine.error().text);
  ProgressLine progress(isatty(STDERR_FILENO) == 1);
  auto diagnosis = engine->run(std::move(*sources), [&](long bytes) {
    progress.at(bytes);
    return true;
  });
  if (!diagnosis) return unreadable(diagnosis.error().text);
  std::optional<diagnose::AgentWord> word;
  if (options.agent) word = ask_for_word(*options.agent);
  if (options.redact) diagnose::redact(*diagnosis, word ? &*word : nullptr);
  if (word) diagnose::join(*diagnosis, std::move(*word));
  print(*diagnosis, *engine, options.format);
  tell_unread(*diagnosis);
  if (diagnosis->verdict.fingerprint != model::Fingerprint::none) return kDiagnosed;
  return diagnosis->unread.empty() ? kNothingFound : kUnreadable;
}

}  // namespace collwatch::cli
