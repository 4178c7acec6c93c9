// SPDX-License-Identifier: Apache-2.0
//
// The agent takes over a new configuration while it runs, or says why it does not.
#include <spdlog/spdlog.h>

#include <utility>

#include "daemon/agent/agent.h"
#include "daemon/config/load.h"

namespace collwatch::agent {

void Agent::reload(config::Config config) {
  for (const std::string& key : config::needs_restart(config_, config)) {
    spdlog::warn("{} changed: takes effect at the next restart", key);
  }
  const bool members_changed = !(config_.membership.members == config.membership.members);
  config.node = config_.node;
  config.listen = config_.listen;
  config.peers.listen = config_.peers.listen;
  config.edge.interval = config_.edge.interval;
  config.network = config_.network;
  config.events = config_.events;
  const bool watch_changed = !(config_.watch == config.watch);
  const bool store_changed = config_.rendezvous.file_path != config.rendezvous.file_path ||
                             config_.rendezvous.interval != config.rendezvous.interval;
  config_ = std::move(config);
  if (store_changed) make_store_link();
  if (watch_changed) watch_->watch(config_.watch);
  server_->set_token(config_.peers.token);
  witness_->set_token(config_.peers.token);
  if (members_changed) {
    ++epoch_;
    set_members();
  }
  reload_ok_ = true;
  ledger_.note(
      "config", "reloaded",
      members_changed ? "configuration reloaded, members changed" : "configuration reloaded");
}

void Agent::reload_failed(const std::string& why) {
  reload_ok_ = false;
  ledger_.note("config", "rejected", "the old configuration stays in force: " + why);
}

}  // namespace collwatch::agent
