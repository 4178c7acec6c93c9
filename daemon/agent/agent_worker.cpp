// SPDX-License-Identifier: Apache-2.0
//
// What the agent and its Gloo worker say to each other.
#include <spdlog/spdlog.h>

#include "daemon/agent/agent.h"
#include "daemon/schedule/schedule.h"

namespace collwatch::agent {

void Agent::send_round(std::int64_t round) {
  wire::Round message;
  message.number = round;
  message.timeout_ms =
      static_cast<int>(static_cast<double>(config_.edge.timeout.count()) * health_.stretch());
  for (const auto& [name, link] : links_) {
    if (!link->starts() || !link->open()) continue;
    const std::uint32_t failed = link->failed_payload();
    const auto bytes =
        schedule::large_payload(around_.pair(name), round, config_.edge.payloads,
                                failed == 0 ? std::nullopt : std::optional<std::uint32_t>(failed));
    if (bytes) message.large.push_back({name, *bytes});
  }
  worker_->round(message, health_.stretch());
}

void Agent::on_worker_message(const wire::FromWorker& message) {
  const auto link = [this](const std::string& peer) {
    const auto found = links_.find(peer);
    return found == links_.end() ? nullptr : found->second.get();
  };
  if (const auto* prepared = std::get_if<wire::EdgePrepared>(&message)) {
    if (PeerLink* to = link(prepared->peer)) to->on_prepared(*prepared);
  } else if (const auto* report = std::get_if<wire::EdgeReport>(&message)) {
    if (report->outcome != model::Outcome::ok) {
      spdlog::info("edge to {}: {} in {}: {}", report->peer, model::name(report->outcome),
                   model::name(report->phase), report->text);
    }
    if (PeerLink* to = link(report->peer)) to->on_report(*report);
  } else if (const auto* group = std::get_if<wire::GroupPrepared>(&message)) {
    group_->on_prepared(*group);
  } else if (const auto* collective = std::get_if<wire::CollectiveReport>(&message)) {
    if (collective->outcome != model::Outcome::ok) {
      spdlog::info("group {}: {}: {}", model::name(collective->collective),
                   model::name(collective->outcome), collective->text);
    }
    group_->on_report(*collective);
  } else if (const auto* words = std::get_if<wire::GroupAccusations>(&message)) {
    group_->on_accusations(*words);
  }
}

void Agent::on_worker_up() {
  ledger_.note("worker", "up", "Gloo worker running, " + worker_->build());
  for (auto& [name, link] : links_) link->greet();
}

void Agent::on_worker_down(model::Reason reason, const std::string& why) {
  ledger_.note("worker", std::string(model::name(reason)), why);
  ledger_.count_restart("gloo", std::string(model::name(reason)));
  for (auto& [name, link] : links_) link->on_worker_lost();
  if (group_) group_->on_worker_lost();
}

}  // namespace collwatch::agent
