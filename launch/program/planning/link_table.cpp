// launch/program/planning/link_table.cpp -- see link_table.h.
#include "launch/program/planning/link_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "runtime/records/telemetry/quantile.h"
#include "runtime/records/telemetry/units.h"

namespace penstock {
namespace {

using LinkGroup = std::vector<const ProfiledLink*>;

LinkGroup group_of(const Profile& profile, bool of_replicas, bool same_node) {
  LinkGroup group;
  for (const ProfiledLink& link : profile.links) {
    if (link.of_replicas == of_replicas && link.same_node == same_node) group.push_back(&link);
  }
  return group;
}

std::string size_row(const LinkGroup& group, size_t size, double bytes) {
  std::vector<double> seconds;
  seconds.reserve(group.size());
  for (const ProfiledLink* link : group) seconds.push_back(link->seconds[size]);
  std::ranges::sort(seconds);
  const double median = quantile(seconds, 0.5);
  return fmt::format("{:>10}  {:>10.1f} {:>10.1f} {:>10.1f}  {:>8.3f}\n",
                     bytes_text(static_cast<int64_t>(bytes)), 1e6 * seconds.front(), 1e6 * median,
                     1e6 * seconds.back(), 1e-9 * bytes / median);
}

std::string group_table(const Profile& profile, bool of_replicas, bool same_node) {
  const LinkGroup group = group_of(profile, of_replicas, same_node);
  if (group.empty()) return "";
  const ProfiledLink* worst = *std::ranges::max_element(
      group, {}, [](const ProfiledLink* link) { return link->seconds.back(); });
  std::string text = fmt::format(
      "{} link{} between {}, {}; the slowest joins ranks {} and {}\n"
      "{:>10}  {:>10} {:>10} {:>10}  {:>8}\n",
      group.size(), group.size() == 1 ? "" : "s",
      of_replicas ? "replicas of a stage" : "neighbouring stages",
      same_node ? "within a host" : "between hosts", worst->first, worst->second, "message",
      "us least", "median", "most", "GB/s");
  for (size_t size = 0; size < profile.link_bytes.size(); ++size) {
    text += size_row(group, size, profile.link_bytes[size]);
  }
  return text;
}

}  // namespace

std::string link_table(const Profile& profile) {
  std::string text;
  for (const bool of_replicas : {false, true}) {
    for (const bool same_node : {true, false}) {
      text += group_table(profile, of_replicas, same_node);
    }
  }
  return text;
}

}  // namespace penstock
