// runtime/records/telemetry/units.h -- writes numbers as short texts with a unit ("4.88 MiB", "2
// min 49 s"), for all that people read: terminal, log, tables and report.
#pragma once

#include <cstdint>
#include <string>

#include "kernels/amount.h"  // IWYU pragma: export

namespace penstock {

[[nodiscard]] std::string bytes_text(int64_t bytes);     // "0 B", "4.88 MiB", "1.25 GiB"
[[nodiscard]] std::string count_text(double count);      // "987", "12.3 k", "1.25 M"
[[nodiscard]] std::string seconds_text(double seconds);  // "4.2 s", "2 min 49 s", "3 h 05 min"
[[nodiscard]] std::string milliseconds_text(double ms);  // "0.84 ms", "84.3 ms", "1234 ms"
[[nodiscard]] std::string percent_text(double share);    // "24.1 %" for 0.241
[[nodiscard]] std::string loss_text(double loss);        // "2.3026", "nan"
[[nodiscard]] std::string time_of_day_text();            // local time: "19:27:13"

}  // namespace penstock
