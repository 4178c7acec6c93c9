// SPDX-License-Identifier: Apache-2.0
//
// Text from outside made fit for a label: Prometheus throws away a whole page for one byte that is
// not UTF-8, so every byte that does not belong becomes U+FFFD. Pure; any thread.
#pragma once

#include <string>
#include <string_view>

namespace collwatch::exporters {

std::string valid_utf8(std::string_view text);

}  // namespace collwatch::exporters
