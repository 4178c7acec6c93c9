// SPDX-License-Identifier: Apache-2.0
//
// Walks the tree of daemon/config, which has a line for every key. Fields of a kind are tables, so
// that a new one is one row.
#include "daemon/catalogue/read_entries.h"

#include <algorithm>
#include <utility>

#include "daemon/config/suggest.h"
#include "daemon/config/yaml.h"
#include "daemon/match/expression.h"

namespace collwatch::catalogue {
namespace {

using config::Tree;

struct TextKey {
  const char* name;
  std::string Entry::*member;
};
constexpr TextKey kTexts[] = {{"title", &Entry::title},
                              {"layer", &Entry::layer},
                              {"symptom", &Entry::symptom},
                              {"mechanism", &Entry::mechanism},
                              {"fix", &Entry::fix},
                              {"takes", &Entry::takes},
                              {"verify", &Entry::verify},
                              {"prevention", &Entry::prevention},
                              {"executive", &Entry::executive},
                              {"engineer", &Entry::engineer},
                              {"on_call", &Entry::on_call}};

const std::vector<std::string>& entry_keys() {
  static const std::vector<std::string> kKeys = [] {
    std::vector<std::string> keys = {"id",      "causes",      "related",    "references",
                                     "phrases", "environment", "frameworks", "patterns"};
    for (const TextKey& key : kTexts) keys.emplace_back(key.name);
    return keys;
  }();
  return kKeys;
}

template <typename E>
std::vector<std::string> words() {
  return {model::Names<E>::value.begin(), model::Names<E>::value.end()};
}

class Reader {
 public:
  Reader(std::string name, Whose whose) : name_(std::move(name)), whose_(whose) {}

  model::Result<std::vector<Change>> read(const Tree& root) {
    const Tree* list = nullptr;
    each_key(root, "", {"fingerprints"}, [&](const Tree::Entry& entry) { list = &entry.value; });
    if (list == nullptr || list->shape != Tree::Shape::list) {
      complain(root.line, "fingerprints", "must be a list: fingerprints: [{id: ..., ...}]");
    } else {
      for (const Tree& item : list->items) read_entry(item);
    }
    if (!problems_.empty()) return model::fail(problems_.error());
    return std::move(changes_);
  }

 private:
  void complain(int line, const std::string& key, const std::string& text) {
    problems_.add(name_ + ":" + std::to_string(std::max(line, 1)) + ": " + key + ": " + text);
  }

  /// Calls `take` for each key of `section` that is in `known`, complains about the others.
  template <typename Take>
  void each_key(const Tree& section, const std::string& where,
                const std::vector<std::string>& known, Take take) {
    if (section.shape != Tree::Shape::section) {
      complain(section.line, where.empty() ? "the file" : where, "must have keys");
      return;
    }
    std::vector<std::string> seen;
    for (const Tree::Entry& entry : section.entries) {
      const std::string key = (where.empty() ? "" : where + ".") + config::shown(entry.key);
      if (std::find(known.begin(), known.end(), entry.key) == known.end()) {
        complain(entry.line, key, "unknown key" + config::did_you_mean(entry.key, known));
      } else if (std::find(seen.begin(), seen.end(), entry.key) != seen.end()) {
        complain(entry.line, key, "given twice");
      } else {
        seen.push_back(entry.key);
        take(entry);
      }
    }
  }

  std::string text(const Tree& value, const std::string& key) {
    if (value.shape != Tree::Shape::text) complain(value.line, key, "must be a text");
    return value.text;
  }

  std::vector<std::string> texts(const Tree& value, const std::string& key) {
    std::vector<std::string> out;
    if (value.shape != Tree::Shape::list) complain(value.line, key, "must be a list of texts");
    for (const Tree& item : value.items) out.push_back(text(item, key));
    return out;
  }

  template <typename E>
  E word(const Tree& value, const std::string& key, E otherwise) {
    const auto found = model::parse<E>(text(value, key));
    if (found) return *found;
    if (value.shape == Tree::Shape::text) {
      complain(value.line, key,
               "'" + config::shown(value.text) + "' is none that is known" +
                   config::did_you_mean(value.text, words<E>()));
    }
    return otherwise;
  }

  void read_entry(const Tree& item) {
    Change change;
    const Tree* id = nullptr;
    for (const Tree::Entry& entry : item.entries) {
      if (entry.key == "id") id = &entry.value;
    }
    if (id == nullptr) {
      complain(item.line, "id", "missing: whose entry is this?");
      return;
    }
    change.entry.id = word(*id, "id", model::Fingerprint::none);
    const std::string where(model::name(change.entry.id));
    each_key(item, where, entry_keys(), [&](const Tree::Entry& entry) {
      change.given.push_back(entry.key);
      read_field(change.entry, entry, where + "." + entry.key);
    });
    changes_.push_back(std::move(change));
  }

  void read_field(Entry& entry, const Tree::Entry& field, const std::string& key) {
    for (const TextKey& known : kTexts) {
      if (field.key == known.name) entry.*known.member = text(field.value, key);
    }
    if (field.key == "references") entry.references = texts(field.value, key);
    if (field.key == "environment") entry.environment = texts(field.value, key);
    if (field.key == "phrases") entry.phrases = texts(field.value, key);
    if (field.key == "related") read_related(entry, field.value, key);
    if (field.key == "causes") read_causes(entry, field.value, key);
    if (field.key == "frameworks") read_frameworks(entry, field.value, key);
    if (field.key == "patterns") read_patterns(entry, field.value, key);
  }

  void read_related(Entry& entry, const Tree& value, const std::string& key) {
    if (value.shape != Tree::Shape::list) complain(value.line, key, "must be a list of ids");
    for (const Tree& item : value.items) {
      entry.related.push_back(word(item, key, model::Fingerprint::none));
    }
  }

  void read_causes(Entry& entry, const Tree& value, const std::string& key) {
    if (value.shape != Tree::Shape::list) complain(value.line, key, "must be a list");
    for (const Tree& item : value.items) {
      Cause cause;
      each_key(item, key, {"cause", "evidence"}, [&](const Tree::Entry& field) {
        (field.key == "cause" ? cause.cause : cause.evidence) =
            text(field.value, key + "." + field.key);
      });
      if (cause.cause.empty()) complain(item.line, key + ".cause", "missing");
      entry.causes.push_back(std::move(cause));
    }
  }

  void read_frameworks(Entry& entry, const Tree& value, const std::string& key) {
    if (value.shape != Tree::Shape::section) complain(value.line, key, "must have keys");
    for (const Tree::Entry& field : value.entries) {
      entry.frameworks[field.key] = text(field.value, key + "." + config::shown(field.key));
    }
  }

  void read_patterns(Entry& entry, const Tree& value, const std::string& key) {
    if (value.shape != Tree::Shape::list) complain(value.line, key, "must be a list");
    for (const Tree& item : value.items) {
      if (++patterns_ > kMostPatterns) {
        complain(item.line, key, "more than " + std::to_string(kMostPatterns));
        return;
      }
      read_pattern(entry, item, key);
    }
  }

  void read_pattern(Entry& entry, const Tree& item, const std::string& key) {
    Pattern pattern;
    pattern.fingerprint = entry.id;
    int match_line = item.line;
    each_key(item, key, {"id", "match", "versions", "role", "fallback", "examples"},
             [&](const Tree::Entry& field) {
               const std::string at = key + "." + field.key;
               if (field.key == "id") pattern.id = text(field.value, at);
               if (field.key == "versions") pattern.versions = text(field.value, at);
               if (field.key == "examples") pattern.examples = texts(field.value, at);
               if (field.key == "role") pattern.role = word(field.value, at, Role::context);
               if (field.key == "fallback") pattern.fallback = yes(field.value, at);
               if (field.key == "match") {
                 pattern.match = text(field.value, at);
                 match_line = field.line;
               }
             });
    if (pattern.id.empty()) complain(item.line, key + ".id", "missing");
    if (std::find(ids_.begin(), ids_.end(), pattern.id) != ids_.end()) {
      complain(item.line, key + ".id", "'" + config::shown(pattern.id) + "' is given twice");
    }
    ids_.push_back(pattern.id);
    if (whose_ == Whose::own) {
      pattern.origin = name_ + ":" + std::to_string(std::max(item.line, 1));
      check_match(pattern, match_line, key);
    }
    entry.patterns.push_back(std::move(pattern));
  }

  bool yes(const Tree& value, const std::string& key) {
    const std::string word = text(value, key);
    if (word != "true" && word != "false") complain(value.line, key, "must be true or false");
    return word == "true";
  }

  void check_match(const Pattern& pattern, int line, const std::string& key) {
    if (pattern.match.empty()) {
      complain(line, key + ".match", "missing");
      return;
    }
    const auto regex = match::Expression::compile(pattern.match);
    if (!regex) {
      complain(line, key + ".match", regex.error().text);
      return;
    }
    for (const std::string& example : pattern.examples) {
      if (!regex->finds(example)) {
        complain(line, key + ".examples", "match does not find '" + config::shown(example) + "'");
      }
    }
  }

  std::string name_;
  Whose whose_;
  config::Problems problems_;
  std::vector<Change> changes_;
  std::vector<std::string> ids_;
  std::size_t patterns_ = 0;
};

}  // namespace

model::Result<std::vector<Change>> read_changes(const std::string& yaml, const std::string& name,
                                                Whose whose) {
  const auto tree = config::parse_yaml(yaml, name);
  if (!tree) return model::fail(tree.error());
  return Reader(name, whose).read(*tree);
}

}  // namespace collwatch::catalogue
