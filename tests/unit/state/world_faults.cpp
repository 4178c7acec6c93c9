// SPDX-License-Identifier: Apache-2.0
//
// See world_faults.h.
#include "tests/unit/state/world_faults.h"

#include <algorithm>
#include <sstream>

namespace collwatch::tests {

using model::Fingerprint;
using model::Kind;
using model::Reason;
using model::VerdictState;

namespace {

Fault node_fault(std::string spec, Member n, const World* = nullptr) {
  Fault f;
  f.spec = std::move(spec) + ":n" + std::to_string(n);
  f.affected = {n};
  f.kinds = {Kind::node};
  f.entities = {"n" + std::to_string(n)};
  f.reasons = {Reason::unreachable};
  return f;
}

void as_link_of_two(Fault& f) {
  // Two members cannot tell a silent node from a dead link.
  f.kinds = {Kind::link, Kind::directed_link};
  f.entities = {"n0<->n1", "n0->n1", "n1->n0"};
  f.page_by = 4000;
}

Fault make_node_fault(const std::string& kind, Member n, const WorldOptions& options) {
  Fault f = node_fault(kind, n);
  const bool two = options.members == 2;
  if (kind == "kill") {
    f.reasons = {Reason::agent_down};
    f.fingerprint = Fingerprint::gloo_peer_lost;
    f.suspect_by = 1000;
    f.start = [n](World& w) { w.kill(n); };
    f.mend = [n](World& w) { w.start(n); };
  } else if (kind == "killworker") {
    f.reasons = {Reason::worker_crash};
    f.fingerprint = Fingerprint::gloo_peer_lost;
    f.suspect_by = 1000;
    f.page = false;
    f.start = [n](World& w) { w.kill_worker(n); };
  } else if (kind == "stopworker") {
    f.reasons = {Reason::worker_stuck};
    f.page = false;
    f.start = [n](World& w) { w.stop_worker(n); };
  } else if (kind == "stop") {
    f.reasons = {Reason::host_stall};
    f.start = [n](World& w) { w.stop(n); };
    f.mend = [n](World& w) { w.resume(n); };
    if (two) f.page_by = 4000;
  } else if (kind == "drop") {
    f.start = [n](World& w) { w.cut_node(n); };
    f.mend = [n](World& w) { w.cut_node(n, false); };
    if (two) as_link_of_two(f);
  } else if (kind == "egress") {
    f.kinds = {Kind::node, Kind::node_egress};
    f.start = [n](World& w) { w.cut_egress(n); };
    f.mend = [n](World& w) { w.cut_egress(n, false); };
    if (two) as_link_of_two(f);
  } else if (kind == "ingress") {
    // Without a witness nobody hears more of the victim than of a dead node.
    f.kinds = {options.witness ? Kind::node_ingress : Kind::node};
    f.start = [n](World& w) { w.cut_ingress(n); };
    f.mend = [n](World& w) { w.cut_ingress(n, false); };
    if (two) as_link_of_two(f);
  } else if (kind == "refuse") {
    f.reasons = {Reason::refused};
    if (!options.witness) f.reasons.insert(Reason::agent_down);
    f.fingerprint = Fingerprint::gloo_peer_lost;
    f.start = [n](World& w) { w.refuse(n); };
    f.mend = [n](World& w) { w.refuse(n, false); };
  } else if (kind == "mtu") {
    f.reasons = {Reason::size_blackhole};
    f.start = [n](World& w) { w.swallow_large(n); };
    f.mend = [n](World& w) { w.swallow_large(n, false); };
    if (two) as_link_of_two(f);
    f.suspect_by = 5000;
    f.page_by = 7000;
  } else if (kind == "corrupt") {
    f.reasons = {Reason::data_corruption};
    f.fingerprint = Fingerprint::data_corruption;
    f.start = [n](World& w) { w.corrupt(n); };
    f.mend = [n](World& w) { w.corrupt(n, false); };
    if (two) as_link_of_two(f);
  } else if (kind == "restart") {
    f.verdict = false;
    f.start = [n](World& w) {
      w.leave(n);
      w.at(w.now() + 1500, [n](World& later) { later.start(n); });
    };
  }
  return f;
}

bool allowed(const std::vector<Fault>& faults, Member agent, const exporters::Verdict& v) {
  for (const Fault& f : faults) {
    if (f.verdict && f.entities.count(v.entity) != 0) return true;
    // Of a one-way link its ends, and agents without a witness, see no direction.
    if (f.affected.size() == 2 || f.entities.size() == 1) {
      for (const Member m : f.affected) {
        if (m == agent && v.entity == "n" + std::to_string(m)) return true;
      }
    }
  }
  return false;
}

std::string text_of(const exporters::Verdict& v) {
  std::string text = std::string(model::name(v.kind)) + " " + v.entity + " " +
                     std::string(model::name(v.reason)) + " " +
                     std::string(model::name(v.fingerprint)) + " " +
                     std::string(model::name(v.state)) + " " + std::string(model::name(v.view));
  return text;
}

void judge_expected(const World& world, Member agent, Ms onset, const Fault& f,
                    std::vector<std::string>& out) {
  Ms suspected = -1;
  Ms paged = -1;
  const exporters::Verdict* latest = nullptr;
  for (const Seen& s : world.seen()) {
    if (s.agent != agent || s.at < onset) continue;
    for (const exporters::Verdict& v : s.verdicts) {
      if (f.entities.count(v.entity) == 0) continue;
      if (s.at <= onset + std::max<Ms>(6000, f.page_by)) latest = &v;
      if (f.kinds.count(v.kind) == 0) continue;
      if (suspected < 0) suspected = s.at - onset;
      if (paged < 0 && v.state == VerdictState::page) paged = s.at - onset;
    }
  }
  const auto say = [&out, &f](const std::string& what) { out.push_back(f.spec + ": " + what); };
  if (suspected < 0 || latest == nullptr) return say("never suspected");
  if (suspected > f.suspect_by) say("suspected only after " + std::to_string(suspected) + " ms");
  if (f.page && paged < 0) say("never paged");
  if (f.page && paged > f.page_by) say("paged only after " + std::to_string(paged) + " ms");
  if (!f.page && paged >= 0) say("paged");
  if (f.kinds.count(latest->kind) == 0) say("wrong kind: " + text_of(*latest));
  if (f.reasons.count(latest->reason) == 0) say("wrong reason: " + text_of(*latest));
  if (f.fingerprint != latest->fingerprint) say("wrong fingerprint: " + text_of(*latest));
}

}  // namespace

Fault make_fault(const std::string& kind, Member a, Member b, const WorldOptions& options) {
  const std::string an = "n" + std::to_string(a);
  const std::string bn = "n" + std::to_string(b);
  if (kind != "drop-" && kind != "drop>") return make_node_fault(kind, a, options);
  Fault f;
  f.affected = {a, b};
  f.reasons = {Reason::unreachable};
  f.page_by = 4000;
  if (kind == "drop-") {
    f.spec = "drop:" + an + "-" + bn;
    f.kinds = {Kind::link};
    f.entities = {an < bn ? an + "<->" + bn : bn + "<->" + an};
    f.start = [a, b](World& w) { w.cut_link(a, b); };
    f.mend = [a, b](World& w) { w.cut_link(a, b, false); };
  } else {
    f.spec = "drop:" + an + ">" + bn;
    f.kinds = {Kind::directed_link};
    f.entities = {an + "->" + bn};
    if (!options.witness) {
      f.kinds.insert(Kind::link);
      f.entities.insert(an < bn ? an + "<->" + bn : bn + "<->" + an);
    }
    f.start = [a, b](World& w) { w.cut(a, b); };
    f.mend = [a, b](World& w) { w.cut(a, b, false); };
  }
  if (options.members == 2) as_link_of_two(f);
  return f;
}

Fault make_partition(const std::vector<Member>& minority) {
  Fault f;
  std::string side;
  for (const Member m : minority) side += (side.empty() ? "n" : ",n") + std::to_string(m);
  f.spec = "partition:" + side;
  f.kinds = {Kind::partition};
  f.entities = {side};
  f.reasons = {Reason::unreachable};
  f.start = [minority](World& w) { w.cut_between(minority); };
  f.mend = [minority](World& w) { w.cut_between(minority, false); };
  return f;
}

std::vector<Fault> all_faults(const WorldOptions& options) {
  std::vector<Fault> faults;
  const auto n = options.members;
  for (const char* kind : {"kill", "killworker", "stopworker", "stop", "drop", "egress", "ingress",
                           "refuse", "mtu", "corrupt", "restart"}) {
    for (Member m = 0; m < n; ++m) faults.push_back(make_fault(kind, m, m, options));
  }
  for (Member a = 0; a < n; ++a) {
    for (Member b = 0; b < n; ++b) {
      if (a < b) faults.push_back(make_fault("drop-", a, b, options));
      if (a != b) faults.push_back(make_fault("drop>", a, b, options));
    }
  }
  return faults;
}

std::vector<std::string> complaints(const World& world, Member agent, Ms onset,
                                    const std::vector<Fault>& faults) {
  std::vector<std::string> out;
  const bool affected = std::any_of(faults.begin(), faults.end(), [agent](const Fault& f) {
    return f.affected.count(agent) != 0;
  });
  for (const Fault& f : faults) {
    if (f.verdict && !affected) judge_expected(world, agent, onset, f, out);
  }
  std::map<std::string, Ms> since;
  const exporters::Verdict* left = nullptr;
  const auto close = [&](const std::string& entity, Ms until) {
    const Ms lasted = until - since[entity];
    if (lasted > 1000) {
      out.push_back("innocent " + entity + " suspected for " + std::to_string(lasted) + " ms");
    }
    since.erase(entity);
  };
  for (const Seen& s : world.seen()) {
    if (s.agent != agent) continue;
    left = s.verdicts.empty() ? nullptr : &s.verdicts.front();
    std::set<std::string> now;
    for (const exporters::Verdict& v : s.verdicts) {
      bool fine = allowed(faults, agent, v);
      // The ends of a one-way link, and whoever has no witness, may not see its direction.
      for (const Fault& f : faults) {
        if (f.affected.size() != 2 || !f.verdict) continue;
        const auto a = "n" + std::to_string(*f.affected.begin());
        const auto b = "n" + std::to_string(*f.affected.rbegin());
        if (v.entity == a + "<->" + b || v.entity == a + "->" + b || v.entity == b + "->" + a) {
          fine = fine || affected || v.state == VerdictState::suspect;
        }
      }
      if (fine) continue;
      now.insert(v.entity);
      since.try_emplace(v.entity, s.at);
      if (v.state != VerdictState::suspect) out.push_back("innocent paged: " + text_of(v));
    }
    const std::map<std::string, Ms> before = since;
    for (const auto& [entity, from] : before) {
      if (now.count(entity) == 0) close(entity, s.at);
    }
  }
  const std::map<std::string, Ms> before = since;
  for (const auto& [entity, from] : before) close(entity, world.now());
  if (left != nullptr) out.push_back("not cleared at the end: " + text_of(*left));
  return out;
}

std::string story(const World& world, Member agent) {
  std::ostringstream text;
  text << "n" << agent << ":\n";
  for (const Seen& s : world.seen()) {
    if (s.agent != agent) continue;
    text << "  " << s.at << ":";
    for (const exporters::Verdict& v : s.verdicts) text << "  [" << text_of(v) << "]";
    text << "\n";
  }
  return text.str();
}

}  // namespace collwatch::tests
