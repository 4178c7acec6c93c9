// SPDX-License-Identifier: Apache-2.0
//
// Makers of table rows, one per kind of value. Each takes the key's name, where the value lives in
// Config, its limits and its meaning. Used by keys.cpp alone.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "daemon/config/keys.h"

namespace collwatch::config {

template <typename T>
using Field = T& (*)(Config&);

struct DurationRange {
  Millis least;
  Millis most;
};
struct SizeRange {
  std::uint64_t least;
  std::uint64_t most;
};
struct Choices {
  std::vector<std::string> now;
  std::vector<std::string> later;  ///< known, but not in this version
};

Key duration_key(std::string name, Field<Millis> field, DurationRange range, std::string meaning);
Key size_key(std::string name, Field<std::uint64_t> field, SizeRange range, std::string meaning);
Key count_key(std::string name, Field<int> field, int least, int most, std::string meaning);
Key flag_key(std::string name, Field<bool> field, std::string meaning);
Key endpoint_key(std::string name, Field<Endpoint> field, std::string meaning);
Key text_key(std::string name, Field<std::string> field, std::string unit, std::string meaning);
Key path_key(std::string name, Field<std::string> field, std::string meaning);
Key label_key(std::string name, Field<std::string> field, std::string meaning);
Key choice_key(std::string name, Field<std::string> field, Choices choices, std::string meaning);
Key choices_key(std::string name, Field<std::vector<std::string>> field, Choices choices,
                std::string meaning);
/// Strictly ascending, 1 to 8 of them.
Key sizes_key(std::string name, Field<std::vector<std::uint32_t>> field, SizeRange range,
              std::string meaning);
Key collectives_key(std::string name, Field<std::vector<model::Collective>> field,
                    std::string meaning);
Key members_key(std::string name, std::string meaning);
/// Sections {glob, max_bytes_per_second}, or globs alone.
Key logs_key(std::string name, std::string meaning);

/// A key of a part that is not built yet: accepts `off`, and `tolerated` with a warning.
Key later_key(std::string name, std::string unit, std::string off, std::string meaning,
              std::vector<std::string> tolerated = {});

}  // namespace collwatch::config
