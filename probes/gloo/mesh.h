// SPDX-License-Identifier: Apache-2.0
//
// Gloo's full-mesh connect, whose store argument became a shared_ptr in 2025. The form is found
// from the class itself, at compile time.
#pragma once

#include <gloo/rendezvous/context.h>
#include <gloo/rendezvous/store.h>
#include <gloo/transport/device.h>

#include <memory>

namespace collwatch::gloo_probe {

using GlooContext = ::gloo::rendezvous::Context;
using GlooStore = ::gloo::rendezvous::Store;
using GlooDevice = ::gloo::transport::Device;

template <typename Context>
concept TakesSharedStore = requires(Context& context, std::shared_ptr<GlooStore> store,
                                    std::shared_ptr<GlooDevice> device) {
  context.connectFullMesh(store, device);
};

inline constexpr bool kSharedStore = TakesSharedStore<GlooContext>;

template <typename Context>
void connect_full_mesh(Context& context, std::shared_ptr<GlooStore> store,
                       std::shared_ptr<GlooDevice> device) {
  if constexpr (TakesSharedStore<Context>) {
    context.connectFullMesh(std::move(store), device);
  } else {
    context.connectFullMesh(*store, device);
  }
}

}  // namespace collwatch::gloo_probe
