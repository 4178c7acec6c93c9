// SPDX-License-Identifier: Apache-2.0
//
// The messages of the c10d probe, field by field; json_fields.h does the rest. Pure, thread safe,
// never throws.
#include "probes/wire/c10d_message.h"

#include <string_view>

#include "probes/wire/json_fields.h"

namespace collwatch::wire {

// Not in a nameless namespace: they are looked up by their arguments.

COLLWATCH_MESSAGE(C10dVersions, "c10d_versions")
COLLWATCH_MESSAGE(C10dCell, "c10d_cell")
COLLWATCH_MESSAGE(C10dStore, "c10d_store")
COLLWATCH_MESSAGE(C10dDone, "c10d_done")

template <Is<C10dVersions> M>
void fields(auto& f, M& m) {
  f("v", m.v, "torch", m.torch);
}
template <Is<C10dCell> M>
void fields(auto& f, M& m) {
  f("op", m.op, "dtype", m.dtype, "reduce_op", m.reduce_op, "device", m.device, "end", m.end,
    "text", m.text);
}
template <Is<C10dStore> M>
void fields(auto& f, M& m) {
  f("store", m.store, "end", m.end, "duration_us", m.duration_us, "text", m.text);
}
template <Is<C10dDone> M>
void fields(auto& f, M& m) {
  f("wall_ms", m.wall_ms, "cpu_ms", m.cpu_ms, "rss_kb", m.rss_kb);
}

std::string encode(const FromC10d& message) {
  return encode_any(message);
}

model::Result<FromC10d> decode_from_c10d(std::string_view packet) {
  return decode_any<FromC10d>(packet);
}

std::string encode_document(const C10dReport& report) {
  json cells = json::array();
  for (const C10dCell& cell : report.cells) {
    Writer writer(cells.emplace_back(json::object()));
    fields(writer, cell);
  }
  json stores = json::array();
  for (const C10dStore& store : report.stores) {
    Writer writer(stores.emplace_back(json::object()));
    fields(writer, store);
  }
  json cost = json::object();
  Writer writer(cost);
  fields(writer, report.done);
  const json document = {{"schema", 1},
                         {"torch", clean_text(report.versions.torch)},
                         {"cells", cells},
                         {"stores", stores},
                         {"cost", cost}};
  return document.dump(1, ' ', false, json::error_handler_t::replace);
}

}  // namespace collwatch::wire
