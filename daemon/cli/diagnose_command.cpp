// SPDX-License-Identifier: Apache-2.0
//
// `diagnose`: logs in, a verdict out. Exit codes: 0 nothing found, 1 a diagnosis, 2 input that
// cannot be read.
#include <unistd.h>

#include <cstdlib>
#include <iostream>

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

int complain(const std::string& text) {
  std::cerr << "collwatch: " << text << "\n";
  return kUnreadable;
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
  if (const std::string why = why_refused(options.agent); !why.empty()) return complain(why);
  std::vector<std::string> inputs = options.inputs;
  if (inputs.empty()) {
    if (isatty(STDIN_FILENO) == 1) return complain("name a log file or a folder, or pipe a log in");
    inputs.emplace_back("-");
  }
  auto sources = logs::find_sources(inputs);
  if (!sources) return complain(sources.error().text);
  if (sources->empty()) return complain("there is no log in what was given");
  auto catalogue = catalogue_with(options.fingerprints);
  if (!catalogue) return complain(catalogue.error().text);
  const auto engine = diagnose::Engine::build(std::move(*catalogue));
  if (!engine) return complain(engine.error().text);
  ProgressLine progress(isatty(STDERR_FILENO) == 1);
  auto diagnosis = engine->run(std::move(*sources), [&](long bytes) {
    progress.at(bytes);
    return true;
  });
  if (!diagnosis) return complain(diagnosis.error().text);
  if (!options.agent.empty()) diagnose::join(*diagnosis, ask_for_word(options.agent));
  if (options.redact) diagnose::redact(*diagnosis);
  print(*diagnosis, *engine, options.format);
  if (diagnosis->verdict.fingerprint != model::Fingerprint::none) return kDiagnosed;
  return diagnosis->is_partly_unread ? kUnreadable : kNothingFound;
}

}  // namespace collwatch::cli
