// SPDX-License-Identifier: Apache-2.0
//
// Stand-ins for what a log says about somebody's machines. Shapes are replaced wherever they occur
// (addresses, paths); names of hosts and users wherever they stand as a word, once anything in the
// diagnosis tells that they are such.
#include <algorithm>
#include <functional>
#include <map>
#include <set>

#include "daemon/diagnose/print.h"
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

/// Longer names first, so that node-1 does not hide node-1.example.org.
struct LongerFirst {
  bool operator()(const std::string& a, const std::string& b) const {
    return a.size() != b.size() ? a.size() > b.size() : a < b;
  }
};
using Names = std::set<std::string, LongerFirst>;

/// Redacting what is redacted changes nothing.
bool is_stand_in(const std::string& name) {
  const std::size_t dash = name.find('-');
  if (dash == std::string::npos || dash + 1 == name.size()) return false;
  const std::string kind = name.substr(0, dash);
  return (kind == "host" || kind == "address" || kind == "user" || kind == "folder") &&
         name.find_first_not_of("0123456789", dash + 1) == std::string::npos;
}

class Redactor {
 public:
  void know_host(const std::string& host) {
    if (host == "localhost" || is_stand_in(host) ||
        (!host.empty() && address_at(host, 0) == host.size()))
      return;
    // Short words that are also English would be replaced in the middle of sentences.
    const bool has_digit = host.find_first_of("0123456789") != std::string::npos;
    const bool has_letter = std::any_of(host.begin(), host.end(), [](char c) {
      return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    });
    if (!has_letter || host.size() < (has_digit ? 2U : 3U)) return;
    hosts_.insert(host);
    // The same machine by its short name.
    if (const std::size_t dot = host.find('.'); dot != std::string::npos && dot >= 3)
      know_host(host.substr(0, dot));
  }

  void learn(const std::string& text) {
    for (const std::string& host : hosts_in(text)) know_host(host);
    for (const std::string& user : users_in(text)) users_.insert(user);
  }

  std::string text(const std::string& in) {
    std::string out;
    for (std::size_t i = 0; i < in.size();) {
      if (const std::size_t path = path_at(in, i)) {
        out += file(in.substr(i, path));
        i += path;
      } else if (const std::size_t length = name_into(in, i, out)) {
        i += length;
      } else {
        out += in[i++];
      }
    }
    return out;
  }

  /// The folder is replaced, the file's own name stays: it says whose log it is.
  std::string file(const std::string& path) {
    const std::size_t slash = path.find_last_of("/\\");
    if (slash == std::string::npos) return plain(path);
    return stand_ins_.of("folder", path.substr(0, slash)) + "/" + plain(path.substr(slash + 1));
  }

 private:
  std::string plain(const std::string& name) {
    std::string out;
    for (std::size_t i = 0; i < name.size();) {
      const std::size_t length = name_into(name, i, out);
      if (length == 0) out += name[i];
      i += std::max<std::size_t>(length, 1);
    }
    return out;
  }

  /// The stand-in for an address, host or user at `at`, appended; its length in the text, or 0.
  std::size_t name_into(const std::string& in, std::size_t at, std::string& out) {
    std::size_t length = address_at(in, at);
    const char* kind = "address";
    if (length == 0) {
      kind = "host";
      length = one_of(hosts_, in, at);
    }
    if (length == 0) {
      kind = "user";
      length = std::max(one_of(users_, in, at), uid_at(in, at));
    }
    if (length != 0) out += stand_ins_.of(kind, in.substr(at, length));
    return length;
  }

  static std::size_t one_of(const Names& names, const std::string& in, std::size_t at) {
    if (at > 0 && is_word(in[at - 1])) return 0;
    for (const std::string& name : names) {
      if (in.compare(at, name.size(), name) != 0) continue;
      const std::size_t end = at + name.size();
      if (end == in.size() || !is_word(in[end])) return name.size();
    }
    return 0;
  }

  StandIns stand_ins_;
  Names hosts_;
  Names users_;
};

void each_text(Diagnosis& diagnosis, const std::function<void(std::string&)>& change) {
  Verdict& verdict = diagnosis.verdict;
  change(verdict.root_cause);
  for (std::string& text : verdict.why) change(text);
  change(verdict.next_action);
  for (std::string& text : verdict.missing_evidence) change(text);
  change(verdict.fix);
  change(verdict.verify);
  for (Finding& finding : diagnosis.findings) {
    change(finding.text);
    for (auto& [name, value] : finding.fields) change(value);
    if (finding.host) change(*finding.host);
  }
  if (verdict.initiating && verdict.initiating->host) change(*verdict.initiating->host);
  if (!diagnosis.agent) return;
  AgentWord& word = *diagnosis.agent;
  for (std::string* text : {&word.url, &word.problem, &word.node, &word.text}) change(*text);
  for (auto* list : {&word.verdicts, &word.past}) {
    for (AgentVerdict& one : *list) change(one.entity);
  }
}

/// "node-a<->node-b", "node-a->node-b", "node-c,node-d", "rack=r1".
void know_entity(Redactor& redactor, const std::string& entity) {
  for (std::size_t start = 0; start < entity.size();) {
    const std::size_t end = std::min(entity.find_first_of("<>,=", start), entity.size());
    std::string name = entity.substr(start, end - start);
    while (!name.empty() && name.back() == '-') name.pop_back();
    if (end == entity.size() || entity[end] != '=') redactor.know_host(name);
    start = end + 1;
  }
}

void know_all(Redactor& redactor, Diagnosis& diagnosis) {
  for (const std::string& host : diagnosis.mentioned.hosts) redactor.know_host(host);
  if (diagnosis.verdict.initiating && diagnosis.verdict.initiating->host) {
    redactor.know_host(*diagnosis.verdict.initiating->host);
  }
  for (const Finding& finding : diagnosis.findings) {
    if (finding.host) redactor.know_host(*finding.host);
    for (const char* name : {"host", "store_host", "node"}) {
      const auto it = finding.fields.find(name);
      if (it != finding.fields.end()) redactor.know_host(it->second);
    }
  }
  for (const std::string& file : diagnosis.mentioned.files) redactor.learn(file);
  if (diagnosis.agent) {
    redactor.know_host(diagnosis.agent->node);
    for (const auto* list : {&diagnosis.agent->verdicts, &diagnosis.agent->past}) {
      for (const AgentVerdict& one : *list) know_entity(redactor, one.entity);
    }
  }
  each_text(diagnosis, [&](std::string& text) { redactor.learn(text); });
}

}  // namespace

void redact(Diagnosis& diagnosis) {
  Redactor redactor;
  know_all(redactor, diagnosis);
  // Files first: the sentences below quote their names.
  std::map<std::string, std::string, LongerFirst> files;
  const auto rename = [&](std::string& file) {
    const std::string renamed = redactor.file(file);
    files[file] = renamed;
    file = renamed;
  };
  for (std::string& file : diagnosis.mentioned.files) rename(file);
  for (Finding& finding : diagnosis.findings) rename(finding.file);
  if (diagnosis.verdict.initiating && diagnosis.verdict.initiating->file)
    rename(*diagnosis.verdict.initiating->file);
  each_text(diagnosis, [&](std::string& text) {
    for (const auto& [file, renamed] : files) {
      if (file == renamed || file.find('/') == std::string::npos) continue;
      for (std::size_t at = text.find(file); at != std::string::npos;
           at = text.find(file, at + renamed.size())) {
        text.replace(at, file.size(), renamed);
      }
    }
    text = redactor.text(text);
  });
  diagnosis.mentioned = {};
}

}  // namespace collwatch::diagnose
