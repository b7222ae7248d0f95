#include "launch/program/start/excluded_hosts.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <fstream>
#include <vector>

#include "runtime/records/run_directory/names.h"

namespace penstock {
namespace {

std::string without_domain(const std::string& host) {
  return host.substr(0, host.find('.'));
}

}  // namespace

std::string excluded_hosts_note(const std::string& run_directory,
                                const std::set<std::string>& hosts) {
  const std::string path = run_directory + "/" + kExcludedHostsFile;
  std::set<std::string> excluded;
  std::ifstream file(path);
  for (std::string host; file >> host;) excluded.insert(without_domain(host));
  std::vector<std::string> here;
  for (const std::string& host : hosts) {
    if (excluded.contains(without_domain(host))) here.push_back(host);
  }
  if (here.empty()) return "";
  return fmt::format(
      "note: an audit has found wrong bits on {}, by {}: leave such hosts out of the job, or "
      "remove "
      "their lines once they are mended",
      fmt::join(here, ", "), path);
}

}  // namespace penstock
