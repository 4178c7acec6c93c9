// SPDX-License-Identifier: Apache-2.0
//
// The folder that all members are to share: looked at now and then, told when somebody does not.
#include "daemon/agent/agent.h"

namespace collwatch::agent {

void Agent::make_store_link() {
  store_.reset();
  store_text_.clear();
  stores_unreaped_ = 0;  // one that hangs in the kernel goes on being the event loop's to reap
  if (config_.rendezvous.file_path.empty()) return;
  StoreLink::Options options;
  options.executable = options_.store_executable;
  options.folder = config_.rendezvous.file_path;
  options.self = config_.node;
  options.interval = config_.rendezvous.interval;
  StoreLink::Handlers handlers;
  handlers.alive = [this] {
    std::set<std::string> alive;
    for (const auto& [name, link] : links_) {
      if (!link->left() && link->history().latest() == model::Outcome::ok) alive.insert(name);
    }
    return alive;
  };
  handlers.members = [this] {
    std::vector<std::string> names;
    for (const auto& [name, link] : links_) names.push_back(name);
    return names;
  };
  handlers.looked = [this](model::Outcome outcome, double seconds) {
    ledger_.count_rendezvous("file", outcome, seconds);
    const std::string& text = store_->sharing().text();
    if (text != store_text_) {
      ledger_.note("config", text.empty() ? "store_shared" : "store_not_shared",
                   text.empty()
                       ? "everybody has the folder " + config_.rendezvous.file_path + " again"
                       : config_.rendezvous.file_path + ": " + text);
    }
    store_text_ = text;
    evaluate_soon();
  };
  handlers.skipped = [this](model::SkipReason reason) { ledger_.count_skip("store", reason); };
  handlers.unreaped = [this](int count) { stores_unreaped_ = count; };
  store_ = std::make_unique<StoreLink>(loop_, std::move(options), std::move(handlers));
  store_->start();
}

}  // namespace collwatch::agent
