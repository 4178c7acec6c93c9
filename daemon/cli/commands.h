// SPDX-License-Identifier: Apache-2.0
//
// The subcommands once their flags are parsed. Each prints and returns the program's exit code;
// main.cpp is the only caller.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "daemon/cli/check.h"
#include "daemon/processes/report.h"

namespace collwatch::cli {

inline constexpr int kUsageError = 2;
inline constexpr int kAgentUnreachable = 3;

struct StatusOptions {
  std::string url;
  bool json = false;
};
int run_status(const StatusOptions& options);

struct CheckOptions {
  std::string url;
  CheckStyle style = CheckStyle::nagios;
};
int run_check(const CheckOptions& options);

enum class DiagnoseFormat { text, json, markdown };

struct DiagnoseOptions {
  std::vector<std::string> inputs;  ///< files, folders, "-"; none is standard input
  DiagnoseFormat format = DiagnoseFormat::text;
  bool redact = false;
  std::vector<std::string> fingerprints{};  ///< files of the user's own, over the built-in ones
  std::optional<std::string> agent;         ///< whose probes to ask, too
};
int run_diagnose(const DiagnoseOptions& options);

struct ExplainOptions {
  std::vector<std::string> words;  ///< an id or a text; "-" is standard input, none is the table
  std::string layer;               ///< side by side instead
  bool markdown = false;
  std::vector<std::string> fingerprints{};  ///< as for diagnose
};
int run_explain(const ExplainOptions& options);

struct InspectOptions {
  std::optional<int> pid;  ///< this process alone, rank or not
  bool json = false;
  bool once = false;  ///< one look: at once, but without progress
  bool dump = false;  ///< ask the ranks for dumps instead, and diagnose those
};
int run_inspect(const InspectOptions& options);

/// Writes to the job. `report` with files of the Flight Recorder.
int run_dump(const processes::ProcessReport& report, bool json);

/// A configuration, or a file of fingerprints.
int run_config_check(const std::string& file, const std::vector<std::string>& key_flags);
int run_config_print(const std::string& file, const std::vector<std::string>& key_flags);

struct InitOptions {
  std::vector<std::string> peers;
  std::string folder = ".";
};
int run_config_init(const InitOptions& options);

}  // namespace collwatch::cli
