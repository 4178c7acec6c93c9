// SPDX-License-Identifier: Apache-2.0
//
// A Collector that never ends.
#include "daemon/watch/log_reader.h"

#include <utility>

#include "daemon/logs/line_blocks.h"
#include "daemon/logs/source.h"
#include "daemon/watch/finding.h"

namespace collwatch::watch {
namespace {

logs::Source source_of(const std::string& path) {
  logs::Source source;
  source.name = path;
  source.hint = logs::hint_from_path(path);
  return source;
}

}  // namespace

LogReader::LogReader(const diagnose::Patterns& patterns, std::string path)
    : path_(std::move(path)), collector_(patterns, 0, source_of(path_)) {}

std::vector<wire::Finding> LogReader::read(const follow::FollowedText& lines) {
  std::string text(lines.text);
  text.resize(logs::clean(text.data(), text.size()));
  const bool is_numbered = lines.first_line > 0;
  if (is_numbered) collector_.continue_at(lines.first_line);
  logs::Block block;
  block.text = text;
  block.ends_line = lines.ends_line;
  collector_.add(block);
  const std::vector<diagnose::Event> events = collector_.take_events();
  std::vector<wire::Finding> findings;
  if (lines.is_context) return findings;
  for (const diagnose::Event& event : events) {
    if (!is_worth_telling(event)) continue;
    wire::Finding finding = finding_of(event);
    finding.source = model::Source::log;
    finding.file = path_;
    finding.line = is_numbered ? event.place.line : 0;
    finding.job = job_of_path(path_);
    findings.push_back(std::move(finding));
  }
  return findings;
}

}  // namespace collwatch::watch
