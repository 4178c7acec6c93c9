// SPDX-License-Identifier: Apache-2.0
//
// Stand-ins for what a log says about somebody's machines. Shapes are replaced wherever they occur
// (addresses, paths); names of hosts and users wherever they stand as a word, once anything in the
// diagnosis tells that they are such; of the names of files, whatever is not known to be harmless.
#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "daemon/diagnose/conclude.h"
#include "daemon/diagnose/print.h"
#include "daemon/diagnose/redact_names.h"
#include "daemon/diagnose/redact_shapes.h"

namespace collwatch::diagnose {
namespace {

/// One stand-in for each thing, numbered in the order of appearance.
class StandIns {
 public:
  std::string of(const std::string& kind, const std::string& thing) {
    std::map<std::string, std::string>& known = by_kind_[kind];
    const auto it = known.find(thing);
    if (it != known.end()) return it->second;
    const std::string stand_in = kind + "-" + std::to_string(known.size() + 1);
    return known[thing] = stand_in;
  }

 private:
  std::map<std::string, std::map<std::string, std::string>> by_kind_;
};

using Names = std::set<std::string>;  // in lower case

/// Redacting what is redacted changes nothing.
bool is_stand_in(const std::string& name) {
  const std::size_t dash = name.find('-');
  if (dash == std::string::npos || dash + 1 == name.size()) return false;
  const std::string kind = name.substr(0, dash);
  return (kind == "host" || kind == "address" || kind == "user" || kind == "folder" ||
          kind == "name") &&
         name.find_first_not_of("0123456789", dash + 1) == std::string::npos;
}

bool is_host_field(const std::string& name) {
  return name == "host" || name == "store_host" || name == "node";
}

class Redactor {
 public:
  void know_host(const std::string& host) {
    if (host.empty() || host == "localhost" || is_stand_in(host) ||
        address_at(host, 0) == host.size())
      return;
    const std::string name = lower_case(host);
    hosts_.insert(name);
    // The same machine by its short name.
    const std::size_t dot = name.find('.');
    if (dot == std::string::npos || dot == 0 || dot + 1 == name.size()) return;
    hosts_.insert(name.substr(0, dot));
    domains_[name.substr(0, dot)].insert(name);
  }

  void know_user(const std::string& user) {
    if (!is_stand_in(user)) users_.insert(lower_case(user));
  }

  void learn(const std::string& text) {
    for (const std::string& host : hosts_in(text)) know_host(host);
    for (const std::string& user : users_in(text)) know_user(user);
  }

  /// What the name of a file says beyond whose log it is may be a host, a user, a project.
  void learn_file(const std::string& path) {
    learn(path);
    each_part(base_name(path), [&](std::string_view part, bool is_name) {
      const std::string name(part);
      const bool is_told = is_sure_name(name) ? name.size() > 2 : name.size() > 3;
      if (is_name && is_told && !is_stand_in(name)) names_.insert(lower_case(name));
    });
  }

  /// Text in which a host may be named: of a log, or of our own making.
  std::string text(const std::string& in) {
    std::string out;
    for (std::size_t i = 0; i < in.size();) {
      if (const std::size_t path = path_at(in, i)) {
        out += path_in_text(in.substr(i, path));
        i += path;
      } else if (const std::size_t length = name_into(in, i, out)) {
        i += length;
      } else {
        out += in[i++];
      }
    }
    return out;
  }

  /// A value that is a host, and nothing else.
  std::string host(const std::string& name) {
    if (name.empty() || name == "localhost" || is_stand_in(name)) return name;
    const std::size_t length = address_at(name, 0);
    if (length == name.size()) return stand_ins_.of("address", name);
    return hosts_.count(lower_case(name)) != 0 ? host_stand_in(lower_case(name)) : text(name);
  }

  /// The folder is replaced; of the file's own name only what says whose log it is stays.
  std::string file(const std::string& path) {
    const std::size_t slash = path.find_last_of('/');
    const std::string name = plain(base_name(path), &Redactor::part_of_file);
    if (slash == std::string::npos) return name;
    return stand_ins_.of("folder", path.substr(0, slash)) + "/" + name;
  }

 private:
  static std::string base_name(const std::string& path) {
    return path.substr(path.find_last_of('/') + 1);
  }

  std::string path_in_text(const std::string& path) {
    const std::size_t slash = path.find_last_of("/\\");
    return stand_ins_.of("folder", path.substr(0, slash)) + "/" +
           plain(path.substr(slash + 1), nullptr);
  }

  std::string part_of_file(const std::string& rest) {
    std::string out;
    each_part(rest, [&](std::string_view part, bool is_name) {
      const std::string name(part);
      out += is_name && !is_stand_in(name) ? stand_ins_.of("name", lower_case(name)) : name;
    });
    return out;
  }

  /// Known names replaced; what stands between them as `between` would have it.
  std::string plain(const std::string& name, std::string (Redactor::*between)(const std::string&)) {
    std::string out;
    std::string rest;
    const auto finish = [&] {
      out += between == nullptr ? rest : (this->*between)(rest);
      rest.clear();
    };
    for (std::size_t i = 0; i < name.size();) {
      std::string stand_in;
      const std::size_t length = name_into(name, i, stand_in);
      if (length == 0) {
        rest += name[i++];
        continue;
      }
      finish();
      out += stand_in;
      i += length;
    }
    finish();
    return out;
  }

  /// The stand-in for an address, host or user at `at`, appended; its length in the text, or 0.
  std::size_t name_into(const std::string& in, std::size_t at, std::string& out) {
    std::size_t length = address_at(in, at);
    if (length != 0) {
      out += stand_ins_.of("address", in.substr(at, length));
      return length;
    }
    const std::size_t list = host_list_at(in, at);
    length = list == 0 ? one_of(hosts_, in, at) : 0;
    if (length != 0) {
      out += host_stand_in(lower_case(in.substr(at, length)));
      return length;
    }
    const char* kind = "user";
    if (list == 0) length = std::max(one_of(users_, in, at), uid_at(in, at));
    if (length == 0) {
      kind = "name";
      length = list != 0 ? list : one_of(names_, in, at);
    }
    if (length != 0) out += stand_ins_.of(kind, lower_case(in.substr(at, length)));
    return length;
  }

  /// The same for node-1 and node-1.example.org, where there is no other node-1.
  std::string host_stand_in(const std::string& name) {
    const std::string short_name = name.substr(0, name.find('.'));
    const auto it = domains_.find(short_name);
    const bool is_one = it != domains_.end() && it->second.size() == 1;
    return stand_ins_.of("host", is_one ? short_name : name);
  }

  /// Length of the longest of the names that stands at `at` as a word, or 0.
  static std::size_t one_of(const Names& names, const std::string& in, std::size_t at) {
    if (names.empty() || !is_word(in[at]) || (at > 0 && is_letter_or_digit(in[at - 1]))) return 0;
    std::size_t end = at;
    while (end < in.size() && (is_word(in[end]) || in[end] == '-' || in[end] == '.')) ++end;
    const std::string run = lower_case(std::string_view(in).substr(at, end - at));
    for (std::size_t length = run.size(); length > 0; --length) {
      if (length < run.size() && is_letter_or_digit(run[length])) continue;
      const std::string name = run.substr(0, length);
      if (names.count(name) != 0 && is_meant(name, in, at)) return length;
    }
    return 0;
  }

  /// Whether the word that is also somebody's name is that name here.
  static bool is_meant(const std::string& name, const std::string& in, std::size_t at) {
    const std::size_t end = at + name.size();
    if (is_ordinary(name)) return stands_as_host(in, at, end);
    if (is_sure_name(name)) return true;
    // worker_exit is no host called worker, and no host's name is a file's ending or a genitive.
    const char before = at > 0 ? in[at - 1] : ' ';
    const char after = end < in.size() ? in[end] : ' ';
    if (before == '_' || after == '_') return false;
    return name.size() > 2 || std::string_view("'./%\\-").find(before) == std::string_view::npos ||
           stands_as_host(in, at, end);
  }

  static bool is_letter_or_digit(char c) { return is_word(c) && c != '_'; }

  StandIns stand_ins_;
  Names hosts_;
  Names users_;
  Names names_;                           ///< of whatever: parts of the names of files
  std::map<std::string, Names> domains_;  ///< short name -> the long ones
};

/// Each text of the diagnosis that is not a value of its own.
void each_text(Diagnosis& diagnosis, const std::function<void(std::string&)>& change) {
  Verdict& verdict = diagnosis.verdict;
  change(verdict.root_cause);
  for (std::string& text : verdict.why) change(text);
  change(verdict.next_action);
  for (std::string& text : verdict.missing_evidence) change(text);
  for (std::string& text : diagnosis.unread) change(text);
  change(verdict.fix);
  change(verdict.verify);
  for (auto& [name, value] : diagnosis.filled) {
    if (name != "host" && name != "file") change(value);
  }
  for (Finding& finding : diagnosis.findings) {
    change(finding.text);
    for (auto& [name, value] : finding.fields) {
      if (!is_host_field(name)) change(value);
    }
  }
}

/// Each value that is a host and nothing else.
void each_host(Diagnosis& diagnosis, const std::function<void(std::string&)>& change) {
  if (diagnosis.verdict.initiating && diagnosis.verdict.initiating->host)
    change(*diagnosis.verdict.initiating->host);
  for (Finding& finding : diagnosis.findings) {
    if (finding.host) change(*finding.host);
    for (auto& [name, value] : finding.fields) {
      if (is_host_field(name)) change(value);
    }
  }
  if (const auto it = diagnosis.filled.find("host"); it != diagnosis.filled.end())
    change(it->second);
  for (std::string& host : diagnosis.mentioned.hosts) change(host);
}

/// "node-a<->node-b", "node-a->node-b", "n0,n1/n2,n3", "rack=r1": names and what stands between
/// them, in order.
void each_part_of_entity(const std::string& entity,
                         const std::function<void(const std::string&, bool is_host)>& part) {
  constexpr const char* kBetween = "<>,=/| ";
  for (std::size_t start = 0; start < entity.size();) {
    std::size_t end = std::min(entity.find_first_of(kBetween, start), entity.size());
    if (end == start) {
      part(entity.substr(start, 1), false);
      ++start;
      continue;
    }
    std::size_t name_end = end;
    while (name_end > start && entity[name_end - 1] == '-') --name_end;  // of an arrow
    const bool is_key = end < entity.size() && entity[end] == '=';
    part(entity.substr(start, name_end - start), !is_key);
    part(entity.substr(name_end, end - name_end), false);
    start = end;
  }
}

void know_word(Redactor& redactor, const AgentWord& word) {
  redactor.know_host(word.node);
  for (const std::string& member : word.members) redactor.know_host(member);
  for (const auto* list : {&word.verdicts, &word.past}) {
    for (const AgentVerdict& one : *list) {
      each_part_of_entity(one.entity, [&](const std::string& name, bool is_host) {
        if (is_host) redactor.know_host(name);
      });
    }
  }
  redactor.learn(word.url);
  redactor.learn(word.problem);
}

void know_all(Redactor& redactor, Diagnosis& diagnosis) {
  each_host(diagnosis, [&](std::string& host) { redactor.know_host(host); });
  for (const std::string& file : diagnosis.mentioned.files) redactor.learn_file(file);
  each_text(diagnosis, [&](std::string& text) { redactor.learn(text); });
}

void redact_word(Redactor& redactor, AgentWord& word) {
  for (std::string* text : {&word.url, &word.problem, &word.text}) *text = redactor.text(*text);
  word.node = redactor.host(word.node);
  word.torch = {};  // what it was for stands in the reasons
  for (std::string& member : word.members) member = redactor.host(member);
  for (auto* list : {&word.verdicts, &word.past}) {
    for (AgentVerdict& one : *list) {
      std::string entity;
      each_part_of_entity(one.entity, [&](const std::string& part, bool is_host) {
        entity += is_host ? redactor.host(part) : part;
      });
      one.entity = entity;
    }
  }
}

bool is_of_name(char c) {
  return is_word(c) || c == '-';
}

/// Each whole occurrence of `what`.
void replace_all(std::string& text, const std::string& what, const std::string& with) {
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at)) {
    const std::size_t end = at + what.size();
    const bool is_cut =
        (at > 0 && is_of_name(text[at - 1])) || (end < text.size() && is_of_name(text[end]));
    if (!is_cut) text.replace(at, what.size(), with);
    at += is_cut ? 1 : with.size();
  }
}

/// Old names of files and their new ones, longer ones first.
class Files {
 public:
  Files(Redactor& redactor) : redactor_(redactor) {}

  void rename(std::string& file) {
    const std::string renamed = redactor_.file(file);
    known_[{-static_cast<long>(file.size()), file}] = renamed;
    file = renamed;
  }

  /// Sentences quote the names of files.
  void replace_in(std::string& text) const {
    for (const auto& [key, renamed] : known_) {
      const std::string& file = key.second;
      if (!file.empty() && file != renamed && !is_ordinary(file)) replace_all(text, file, renamed);
    }
  }

 private:
  Redactor& redactor_;
  std::map<std::pair<long, std::string>, std::string> known_;
};

}  // namespace

void redact(Diagnosis& diagnosis, AgentWord* word) {
  AgentWord* const said = word == nullptr && diagnosis.agent ? &*diagnosis.agent : word;
  Redactor redactor;
  if (said != nullptr) know_word(redactor, *said);
  know_all(redactor, diagnosis);
  Files files(redactor);
  for (std::string& file : diagnosis.mentioned.files) files.rename(file);
  for (Finding& finding : diagnosis.findings) files.rename(finding.file);
  if (diagnosis.verdict.initiating && diagnosis.verdict.initiating->file)
    files.rename(*diagnosis.verdict.initiating->file);
  if (const auto it = diagnosis.filled.find("file"); it != diagnosis.filled.end())
    files.rename(it->second);
  each_host(diagnosis, [&](std::string& host) { host = redactor.host(host); });
  each_text(diagnosis, [&](std::string& text) {
    files.replace_in(text);
    text = redactor.text(text);
  });
  if (said != nullptr) redact_word(redactor, *said);
  if (!diagnosis.fix_template.empty()) {
    diagnosis.verdict.fix = fill(diagnosis.fix_template, diagnosis.filled);
    diagnosis.verdict.verify = fill(diagnosis.verify_template, diagnosis.filled, Filling::command);
  }
  diagnosis.mentioned.files.clear();
}

}  // namespace collwatch::diagnose
