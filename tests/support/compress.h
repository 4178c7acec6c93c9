// SPDX-License-Identifier: Apache-2.0
//
// Archives for tests of the readers, made by the libraries themselves.
#pragma once

#include <string>

namespace collwatch::test {

std::string gzipped(const std::string& text);
std::string zstd_compressed(const std::string& text);

}  // namespace collwatch::test
