// launch/program/start/excluded_hosts.h -- excluded_hosts_note(): says that ranks are on a host
// that an earlier start of the run has excluded (run.on_corruption, docs/audits.md).
#pragma once

#include <set>
#include <string>

namespace penstock {

// A note that names those of `hosts` that stand in the file excluded_hosts of the run directory;
// empty if there are none, or no such file. Names are compared without their domains.
[[nodiscard]] std::string excluded_hosts_note(const std::string& run_directory,
                                              const std::set<std::string>& hosts);

}  // namespace penstock
