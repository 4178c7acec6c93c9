// SPDX-License-Identifier: Apache-2.0
//
// Stand-ins for what a log says about somebody's machines. Shapes are replaced wherever they occur
// (addresses, home folders, paths); names of hosts and users where the diagnosis knows them to be
// such.
#include <algorithm>
#include <cctype>
#include <functional>
#include <set>

#include "daemon/diagnose/print.h"

namespace collwatch::diagnose {
namespace {

bool is_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}
bool is_hex(char c) {
  return std::isxdigit(static_cast<unsigned char>(c)) != 0;
}

/// One stand-in for each thing, numbered in the order of appearance.
class StandIns {
 public:
  std::string of(const std::string& kind, const std::string& thing) {
    std::map<std::string, std::string>& known = by_kind_[kind];
    const auto it = known.find(thing);
    if (it != known.end()) return it->second;
    return known[thing] = kind + "-" + std::to_string(known.size() + 1);
  }

 private:
  std::map<std::string, std::map<std::string, std::string>> by_kind_;
};

/// Length of an IPv4 or IPv6 address at `at`, or 0.
std::size_t address_at(const std::string& text, std::size_t at) {
  if (at > 0 && (is_word(text[at - 1]) || text[at - 1] == '.' || text[at - 1] == ':')) return 0;
  std::size_t end = at;
  int dots = 0;
  while (end < text.size() &&
         (std::isdigit(static_cast<unsigned char>(text[end])) != 0 || text[end] == '.')) {
    dots += text[end] == '.' ? 1 : 0;
    ++end;
  }
  while (end > at && text[end - 1] == '.') {
    --end;
    --dots;
  }
  if (dots == 3 && (end == text.size() || !is_word(text[end]))) return end - at;
  end = at;
  int colons = 0;
  int digits = 0;
  while (end < text.size() && (is_hex(text[end]) || text[end] == ':')) {
    colons += text[end] == ':' ? 1 : 0;
    digits += text[end] == ':' ? 0 : 1;
    ++end;
  }
  const bool is_clock = colons == 2 && end - at <= 8;
  const bool is_doubled = text.substr(at, end - at).find("::") != std::string::npos;
  return (colons >= 7 || (is_doubled && digits >= 1)) && !is_clock ? end - at : 0;
}

/// Length of an absolute path with at least two parts, or 0.
std::size_t path_at(const std::string& text, std::size_t at) {
  if (text[at] != '/' || (at > 0 && (is_word(text[at - 1]) ||
                                     std::string("./:-").find(text[at - 1]) != std::string::npos)))
    return 0;
  std::size_t end = at;
  while (end < text.size() &&
         (is_word(text[end]) || std::string("/.-+@%~").find(text[end]) != std::string::npos))
    ++end;
  return std::count(text.begin() + static_cast<long>(at), text.begin() + static_cast<long>(end),
                    '/') >= 2
             ? end - at
             : 0;
}

class Redactor {
 public:
  void know_host(const std::string& host) {
    // Short words that are also English would be replaced in the middle of sentences.
    if (host.size() >= 3 && host != "localhost" && address_at(host, 0) == 0) hosts_.insert(host);
  }

  std::string text(const std::string& in) {
    std::string out;
    for (std::size_t i = 0; i < in.size();) {
      if (const std::size_t address = address_at(in, i)) {
        out += stand_ins_.of("address", in.substr(i, address));
        i += address;
      } else if (const std::size_t path = path_at(in, i)) {
        out += file(in.substr(i, path));
        i += path;
      } else if (const std::size_t host = host_at(in, i)) {
        out += stand_ins_.of("host", in.substr(i, host));
        i += host;
      } else if (const std::size_t user = user_at(in, i)) {
        out += stand_ins_.of("user", in.substr(i, user));
        i += user;
      } else {
        out += in[i++];
      }
    }
    return out;
  }

  /// The folder is replaced, the file's own name stays: it says whose log it is.
  std::string file(const std::string& path) {
    const std::size_t slash = path.rfind('/');
    if (slash == std::string::npos) return plain(path);
    return stand_ins_.of("folder", path.substr(0, slash)) + "/" + plain(path.substr(slash + 1));
  }

 private:
  std::string plain(const std::string& name) {
    std::string out;
    for (std::size_t i = 0; i < name.size();) {
      const std::size_t address = address_at(name, i);
      const std::size_t host = address == 0 ? host_at(name, i) : 0;
      if (address + host == 0) {
        out += name[i++];
        continue;
      }
      out += stand_ins_.of(address != 0 ? "address" : "host", name.substr(i, address + host));
      i += address + host;
    }
    return out;
  }

  std::size_t host_at(const std::string& in, std::size_t at) const {
    if (at > 0 && (is_word(in[at - 1]) || in[at - 1] == '-')) return 0;
    for (auto it = hosts_.rbegin(); it != hosts_.rend();
         ++it) {  // longer names first among prefixes
      if (in.compare(at, it->size(), *it) != 0) continue;
      const std::size_t end = at + it->size();
      if (end == in.size() || !is_word(in[end])) return it->size();
    }
    return 0;
  }

  /// "user=alice", "UID:1000", "USER alice"
  static std::size_t user_at(const std::string& in, std::size_t at) {
    for (const std::string before : {"user=", "User=", "USER=", "uid=", "UID:", "user "}) {
      if (at < before.size() || in.compare(at - before.size(), before.size(), before) != 0)
        continue;
      if (at > before.size() && is_word(in[at - before.size() - 1])) continue;
      std::size_t end = at;
      while (end < in.size() && (is_word(in[end]) || in[end] == '-' || in[end] == '.')) ++end;
      if (before != "user " && end > at) return end - at;
    }
    return 0;
  }

  StandIns stand_ins_;
  std::set<std::string> hosts_;
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
}

}  // namespace

void redact(Diagnosis& diagnosis) {
  Redactor redactor;
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
  // Files first: the sentences below quote their names.
  std::map<std::string, std::string> files;
  const auto rename = [&](std::string& file) {
    const std::string renamed = redactor.file(file);
    files[file] = renamed;
    file = renamed;
  };
  for (Finding& finding : diagnosis.findings) rename(finding.file);
  if (diagnosis.verdict.initiating && diagnosis.verdict.initiating->file)
    rename(*diagnosis.verdict.initiating->file);
  each_text(diagnosis, [&](std::string& text) {
    for (auto it = files.rbegin(); it != files.rend(); ++it) {
      if (it->first == it->second || it->first.find('/') == std::string::npos) continue;
      for (std::size_t at = text.find(it->first); at != std::string::npos;
           at = text.find(it->first, at + it->second.size())) {
        text.replace(at, it->first.size(), it->second);
      }
    }
    text = redactor.text(text);
  });
}

}  // namespace collwatch::diagnose
