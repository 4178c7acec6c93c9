// SPDX-License-Identifier: Apache-2.0
//
// See impairment.h.
#include "daemon/attribute/impairment.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "daemon/attribute/local_health.h"

namespace collwatch::attribute {
namespace {

using model::Kind;
using model::Reason;

constexpr double kNodeLoss = 0.03;  ///< of all datagrams from and to it
constexpr double kSigmas = 5;
constexpr double kLinkLoss = 0.08;     ///< of those on one link, both ways
constexpr double kAboveTheRest = 4;    ///< times the loss on the better half of the pairs
constexpr std::int32_t kWindow = 40;   ///< datagrams that EdgeWord::lost is counted in
constexpr std::int32_t kFeltLoss = 2;  ///< datagrams; a partner that misses fewer is no witness

struct Late {
  Member observer;
  Member peer;
};

struct Flow {
  Member from;
  Member to;
  std::int32_t missing;
  std::int32_t due;
};

struct Share {
  std::int64_t missing = 0;
  std::int64_t due = 0;
  double value() const {
    return due == 0 ? 0 : static_cast<double>(missing) / static_cast<double>(due);
  }
};

Cause node(Member n) {
  return {Kind::node, n, n, {}};
}
Cause link(Member a, Member b) {
  return {Kind::link, std::min(a, b), std::max(a, b), {}};
}

bool takes_part(const Evidence& evidence, Member m) {
  return m < evidence.expected.size() && evidence.expected[m];
}

/// Calls `use(observer, word)` for the words about working edges of observers that are well.
template <typename Use>
void each_working(const Evidence& evidence, Use use) {
  for (const ObserverReport& report : evidence.reports) {
    if (!takes_part(evidence, report.observer) || report.local_health > 0) continue;
    for (const EdgeWord& word : report.edges) {
      if (takes_part(evidence, word.peer) && word.state != EdgeState::unknown) {
        use(report.observer, word);
      }
    }
  }
}

void find_slow(const Evidence& evidence, std::vector<Impairment>& found) {
  std::vector<Late> late;
  std::map<Member, int> watched;
  each_working(evidence, [&](Member observer, const EdgeWord& word) {
    ++watched[word.peer];
    if (word.late_ms > 0) late.push_back({observer, word.peer});
  });
  std::map<Member, int> accusers;
  for (const Late& one : late) ++accusers[one.peer];
  std::set<Member> slow;
  for (const auto& [member, count] : accusers) {
    if (count >= 2 && 2 * count > watched[member]) slow.insert(member);
  }
  for (const Member member : slow) found.push_back({node(member), Reason::slow});
  std::set<std::pair<Member, Member>> links;
  for (const Late& one : late) {
    if (slow.count(one.observer) == 0 && slow.count(one.peer) == 0) {
      links.insert(std::minmax(one.observer, one.peer));
    }
  }
  for (const auto& [a, b] : links) found.push_back({link(a, b), Reason::slow});
}

std::map<std::pair<Member, Member>, Share> by_pair(const std::vector<Flow>& flows) {
  std::map<std::pair<Member, Member>, Share> pairs;
  for (const Flow& flow : flows) {
    Share& share = pairs[std::minmax(flow.from, flow.to)];
    share.missing += flow.missing;
    share.due += flow.due;
  }
  return pairs;
}

/// What everybody here loses: the share of the better half of the pairs.
double background(const std::vector<Flow>& flows) {
  std::vector<Share> shares;
  for (const auto& [ends, share] : by_pair(flows)) shares.push_back(share);
  std::sort(shares.begin(), shares.end(),
            [](const Share& x, const Share& y) { return x.value() < y.value(); });
  Share all;
  for (std::size_t i = 0; i < shares.size() / 2; ++i) {
    all.missing += shares[i].missing;
    all.due += shares[i].due;
  }
  return all.value();
}

/// The node that loses most, if it does so towards several partners and more than is usual here.
std::optional<Member> worst_node(const std::vector<Flow>& flows, const std::set<Member>& members,
                                 double usual) {
  std::optional<Member> worst;
  double worst_share = 0;
  for (const Member member : members) {
    Share mine;
    std::map<Member, std::int32_t> partners;
    for (const Flow& flow : flows) {
      if (flow.from != member && flow.to != member) continue;
      mine.missing += flow.missing;
      mine.due += flow.due;
      partners[flow.from == member ? flow.to : flow.from] += flow.missing;
    }
    const auto feel = std::count_if(partners.begin(), partners.end(), [](const auto& partner) {
      return partner.second >= kFeltLoss;
    });
    const double share = mine.value();
    if (feel < 2 || share < kNodeLoss || share < kAboveTheRest * usual) continue;
    if (share > worst_share) {
      worst_share = share;
      worst = member;
    }
  }
  return worst;
}

/// More than chance makes of the loss that all other pairs have: of 28 pairs one is always the
/// unluckiest.
bool stands_out(const Share& share, double rest) {
  const double expected = rest * static_cast<double>(share.due);
  return static_cast<double>(share.missing) > expected + kSigmas * std::sqrt(expected + 1);
}

void find_lossy(const Evidence& evidence, std::vector<Impairment>& found) {
  std::vector<Flow> flows;
  std::set<Member> members;
  each_working(evidence, [&](Member observer, const EdgeWord& word) {
    if (word.lost < 0) return;
    flows.push_back({word.peer, observer, word.lost, kWindow});
    members.insert(observer);
    members.insert(word.peer);
  });
  const double usual = background(flows);
  // One at a time: what the worst one loses must not be held against its partners.
  while (const auto worst = worst_node(flows, members, usual)) {
    const Member named = *worst;
    found.push_back({node(named), Reason::lossy});
    members.erase(named);
    flows.erase(std::remove_if(
                    flows.begin(), flows.end(),
                    [named](const Flow& flow) { return flow.from == named || flow.to == named; }),
                flows.end());
  }
  const auto pairs = by_pair(flows);
  Share all;
  for (const auto& [ends, share] : pairs) {
    all.missing += share.missing;
    all.due += share.due;
  }
  for (const auto& [ends, share] : pairs) {
    const Share rest{all.missing - share.missing, all.due - share.due};
    if (share.value() >= kLinkLoss && share.value() >= kAboveTheRest * usual &&
        stands_out(share, rest.value())) {
      found.push_back({link(ends.first, ends.second), Reason::lossy});
    }
  }
}

}  // namespace

std::vector<Impairment> impairments(const Evidence& evidence) {
  std::vector<Impairment> found;
  find_slow(evidence, found);
  find_lossy(evidence, found);
  std::stable_sort(found.begin(), found.end(), [](const Impairment& x, const Impairment& y) {
    return x.cause.kind < y.cause.kind;
  });
  return found;
}

}  // namespace collwatch::attribute
