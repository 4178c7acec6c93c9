// SPDX-License-Identifier: Apache-2.0
//
// Merging: the built-in files are merged into an empty catalogue exactly as a user's file is merged
// over it, so there is one way in.
#include "daemon/catalogue/catalogue.h"

#include <algorithm>

#include "daemon/catalogue/built_in.h"
#include "daemon/catalogue/read_entries.h"
#include "daemon/config/read_file.h"
#include "daemon/config/yaml.h"

namespace collwatch::catalogue {
namespace {

/// A pattern with the id of a known one takes its place.
void add_pattern(std::vector<Entry>& entries, Entry& target, Pattern pattern) {
  for (Entry& entry : entries) {
    for (std::size_t i = 0; i < entry.patterns.size(); ++i) {
      if (entry.patterns[i].id != pattern.id) continue;
      if (&entry == &target) {
        entry.patterns[i] = std::move(pattern);
        return;
      }
      entry.patterns.erase(entry.patterns.begin() + static_cast<std::ptrdiff_t>(i));
      break;
    }
  }
  target.patterns.push_back(std::move(pattern));
}

void apply(std::vector<Entry>& entries, Entry& target, Change change) {
  Entry& from = change.entry;
  const auto given = [&](const char* key) {
    return std::find(change.given.begin(), change.given.end(), key) != change.given.end();
  };
  if (given("title")) target.title = std::move(from.title);
  if (given("layer")) target.layer = std::move(from.layer);
  if (given("symptom")) target.symptom = std::move(from.symptom);
  if (given("mechanism")) target.mechanism = std::move(from.mechanism);
  if (given("causes")) target.causes = std::move(from.causes);
  if (given("fix")) target.fix = std::move(from.fix);
  if (given("takes")) target.takes = std::move(from.takes);
  if (given("verify")) target.verify = std::move(from.verify);
  if (given("prevention")) target.prevention = std::move(from.prevention);
  if (given("related")) target.related = std::move(from.related);
  if (given("references")) target.references = std::move(from.references);
  if (given("executive")) target.executive = std::move(from.executive);
  if (given("engineer")) target.engineer = std::move(from.engineer);
  if (given("on_call")) target.on_call = std::move(from.on_call);
  if (given("environment")) target.environment = std::move(from.environment);
  if (given("phrases")) target.phrases = std::move(from.phrases);
  for (auto& [framework, text] : from.frameworks) target.frameworks[framework] = std::move(text);
  for (Pattern& pattern : from.patterns) add_pattern(entries, target, std::move(pattern));
}

}  // namespace

model::Result<Catalogue> Catalogue::built_in() {
  Catalogue catalogue;
  for (std::size_t i = 0; i < model::kCount<model::Fingerprint>; ++i) {
    Entry entry;
    entry.id = static_cast<model::Fingerprint>(i);
    catalogue.entries_.push_back(std::move(entry));
  }
  for (const BuiltInFile& file : built_in_files()) {
    // The tests try every example of every pattern: no need to at each start.
    auto changes = read_changes(std::string(file.yaml), std::string(file.name), Whose::built_in);
    if (!changes) return model::fail(changes.error());
    const auto merged = catalogue.apply_all(std::move(*changes), std::string(file.name));
    if (!merged) return model::fail(merged.error());
  }
  return catalogue;
}

model::Result<void> Catalogue::merge_file(const std::string& path) {
  const auto file = config::read_file(path, config::kMaxFileBytes);
  if (!file) return model::fail(file.error());
  return merge(file->bytes, path);
}

model::Result<void> Catalogue::merge(const std::string& yaml, const std::string& name) {
  auto changes = read_changes(yaml, name, Whose::own);
  if (!changes) return model::fail(changes.error());
  return apply_all(std::move(*changes), name);
}

model::Result<void> Catalogue::apply_all(std::vector<Change> changes, const std::string& name) {
  std::size_t count = patterns().size();
  for (const Change& change : changes) count += change.entry.patterns.size();
  if (count > kMostPatterns) {
    return model::fail(model::ErrorCode::limit, name + ": " + std::to_string(count) +
                                                    " patterns with those that are known, " +
                                                    "at most " + std::to_string(kMostPatterns));
  }
  for (Change& change : changes) {
    Entry& target = entries_[static_cast<std::size_t>(change.entry.id)];
    apply(entries_, target, std::move(change));
  }
  return {};
}

const Entry* Catalogue::find(model::Fingerprint id) const {
  const auto index = static_cast<std::size_t>(id);
  return index < entries_.size() ? &entries_[index] : nullptr;
}

std::vector<Pattern> Catalogue::patterns() const {
  std::vector<Pattern> all;
  for (const Entry& entry : entries_) {
    all.insert(all.end(), entry.patterns.begin(), entry.patterns.end());
  }
  return all;
}

}  // namespace collwatch::catalogue
