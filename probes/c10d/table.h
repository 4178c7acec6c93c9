// SPDX-License-Identifier: Apache-2.0
//
// What was measured, as a page of markdown: the same for the same library, whatever the machine and
// however long it took. Pure.
#pragma once

#include <string>

#include "probes/wire/c10d_message.h"

namespace collwatch::c10d_probe {

std::string to_markdown(const wire::C10dReport& report);

}  // namespace collwatch::c10d_probe
