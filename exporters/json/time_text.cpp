// SPDX-License-Identifier: Apache-2.0
//
// Calendar arithmetic by <chrono>; no locale, no time zone data, no static buffers.
#include "exporters/json/time_text.h"

#include <chrono>
#include <cstdio>

namespace collwatch::exporters {

std::string rfc3339(WallTime time) {
  using namespace std::chrono;
  const auto stamp = floor<milliseconds>(time);
  const auto day = floor<days>(stamp);
  const year_month_day date(day);
  const hh_mm_ss<milliseconds> clock(stamp - day);
  char text[48];
  std::snprintf(
      text, sizeof text, "%04d-%02u-%02uT%02d:%02d:%02d.%03dZ", static_cast<int>(date.year()),
      static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
      static_cast<int>(clock.hours().count()), static_cast<int>(clock.minutes().count()),
      static_cast<int>(clock.seconds().count()), static_cast<int>(clock.subseconds().count()));
  return text;
}

}  // namespace collwatch::exporters
