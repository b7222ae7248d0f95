// launch/program/planning/link_table.h -- prints the times of all messages that `penstock profile
// --links` has measured, a row for each message size, in the form of the OSU micro-benchmarks.
#pragma once

#include <string>

#include "runtime/planning/plan/profile.h"

namespace penstock {

// A table for each kind of link that there is: between neighbouring stages or between replicas,
// within a host or between hosts. Its columns are the message size, the least, median and greatest
// one-way time of all links of that kind in microseconds, and the median's GB/s; its heading says
// how many links there are and which pair of ranks is slowest. "" where no links were measured.
[[nodiscard]] std::string link_table(const Profile& profile);

}  // namespace penstock
