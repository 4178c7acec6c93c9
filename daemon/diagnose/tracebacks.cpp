// SPDX-License-Identifier: Apache-2.0
//
// The state machine over one writer's lines.
#include "daemon/diagnose/tracebacks.h"

#include <algorithm>
#include <array>
#include <cctype>

namespace collwatch::diagnose {
namespace {

/// A traceback that has not ended after so many lines never will.
constexpr int kMostLines = 1000;

constexpr std::array<std::string_view, 30> kOps = {"all_reduce",
                                                   "all_gather",
                                                   "all_gather_object",
                                                   "all_gather_into_tensor",
                                                   "_all_gather_base",
                                                   "all_gather_coalesced",
                                                   "all_reduce_coalesced",
                                                   "all_to_all",
                                                   "all_to_all_single",
                                                   "barrier",
                                                   "broadcast",
                                                   "broadcast_object_list",
                                                   "gather",
                                                   "gather_object",
                                                   "scatter",
                                                   "scatter_object_list",
                                                   "reduce",
                                                   "reduce_scatter",
                                                   "reduce_scatter_tensor",
                                                   "_reduce_scatter_base",
                                                   "send",
                                                   "recv",
                                                   "isend",
                                                   "irecv",
                                                   "batch_isend_irecv",
                                                   "monitored_barrier",
                                                   "new_group",
                                                   "new_subgroups",
                                                   "init_process_group",
                                                   "_new_process_group_helper"};

bool starts(std::string_view text, std::string_view with) {
  return text.substr(0, with.size()) == with;
}

}  // namespace

bool is_exception_line(std::string_view line) {
  if (line.empty() || line[0] == ' ' || std::isdigit(static_cast<unsigned char>(line[0])) != 0)
    return false;
  std::size_t end = 0;
  while (end < line.size() && (std::isalnum(static_cast<unsigned char>(line[end])) != 0 ||
                               line[end] == '_' || line[end] == '.')) {
    ++end;
  }
  if (end == 0 || end > 160) return false;
  // The name alone, or a colon behind it. "Foo(bar)" is how concurrent wrappers print theirs.
  if (end != line.size() && line[end] != ':' && line[end] != '(') return false;
  const std::string_view name = exception_class(line);
  if (name.size() < 3 || std::isupper(static_cast<unsigned char>(name[0])) == 0) {
    return name == "error" || name == "timeout";  // socket.error, socket.timeout
  }
  // INFO, WARNING: a logger's, not an exception's.
  return std::any_of(name.begin(), name.end(), [](char c) { return c >= 'a' && c <= 'z'; });
}

std::string_view exception_class(std::string_view line) {
  const std::string_view name = line.substr(0, line.find_first_of(":( "));
  const std::size_t dot = name.rfind('.');
  return dot == std::string_view::npos ? name : name.substr(dot + 1);
}

void Tracebacks::begin() {
  open_ = true;
  chained_now_ = chained_;
  chained_ = false;
  is_starting_ = false;
  lines_ = 0;
  op_.clear();
  code_.clear();
}

void Tracebacks::frame(std::string_view line) {
  constexpr std::size_t kStart = 6;  // behind File "
  const std::size_t quote = line.find('"', kStart);
  if (quote == std::string_view::npos) return;
  const std::string_view file = line.substr(kStart, quote - kStart);
  const std::size_t in = line.rfind(", in ");
  const std::string_view function = in == std::string_view::npos ? "" : line.substr(in + 5);
  const bool is_library = file.find("/site-packages/") != std::string_view::npos ||
                          file.find("/dist-packages/") != std::string_view::npos ||
                          file.find("/lib/python") != std::string_view::npos ||
                          file.find("\\lib\\") != std::string_view::npos || starts(file, "<");
  if (file.find("torch/distributed") != std::string_view::npos ||
      file.find("torch\\distributed") != std::string_view::npos) {
    if (std::find(kOps.begin(), kOps.end(), function) != kOps.end()) op_ = std::string(function);
  } else if (function == "backward" && op_.empty() &&
             file.find("torch") != std::string_view::npos) {
    op_ = "backward";  // DDP's own all-reduce: no frame of it shows
  }
  if (is_library) return;
  const std::size_t number = line.find("line ", quote);
  if (number == std::string_view::npos) return;
  const std::string_view digits = line.substr(number + 5);
  code_ = std::string(file) + ":" +
          std::string(digits.substr(0, digits.find_first_not_of("0123456789")));
}

Tracebacks::Part Tracebacks::add(std::string_view line) {
  if (!open_) return Part::none;
  if (++lines_ > kMostLines) {
    open_ = false;
    return Part::none;
  }
  // In the user's own line, or in the library's frame.
  is_starting_ = is_starting_ || line.find("init_process_group") != std::string_view::npos;
  if (line.empty() || line[0] == ' ' || line[0] == '\t') {
    const std::size_t text = line.find_first_not_of(" \t");
    if (text != std::string_view::npos && starts(line.substr(text), "File \""))
      frame(line.substr(text));
    return Part::body;
  }
  if (starts(line, "File \"")) {  // the indentation was lost on the way
    frame(line);
    return Part::body;
  }
  if (is_exception_line(line)) {
    open_ = false;
    return Part::exception;
  }
  return Part::none;  // something else in between
}

}  // namespace collwatch::diagnose
