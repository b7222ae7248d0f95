// launch/program/start/processor_time.cpp -- see processor_time.h.
#include "launch/program/start/processor_time.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

namespace penstock {
namespace {

namespace fs = std::filesystem;

double smaller_limit(double a, double b) {
  if (a <= 0.0 || b <= 0.0) return std::max({a, b, 0.0});
  return std::min(a, b);
}

// Returns the limit that cpu.max sets for a group, in cores: 1.5 for "150000 100000". Returns 0,
// which stands for no limit, for "max 100000".
double limit_of_version_2(const fs::path& group) {
  std::ifstream file(group / "cpu.max");
  double quota = 0.0;  // stays 0 if the file says "max"
  double period = 0.0;
  return file >> quota >> period && period > 0.0 ? quota / period : 0.0;
}

// Returns the limit that the files of version 1 set for a group, in cores, or 0 if the files set no
// limit. A quota of -1 stands for no limit.
double limit_of_version_1(const fs::path& group) {
  double quota = 0.0;
  double period = 0.0;
  std::ifstream(group / "cpu.cfs_quota_us") >> quota;
  std::ifstream(group / "cpu.cfs_period_us") >> period;
  return quota > 0.0 && period > 0.0 ? quota / period : 0.0;
}

// Returns the lowest limit of a control group and the groups around it. `group` is the path that
// /proc gives, for example "/a/b". If a container sees its own group as the root of the tree, that
// path does not exist there, and the limit of the root is returned.
template <class Limit>
double least(const fs::path& tree, const std::string& group, const Limit& limit) {
  double result = limit(tree);
  fs::path path = tree;
  for (const fs::path& part : fs::path(group).relative_path()) {
    path /= part;
    result = smaller_limit(result, limit(path));
  }
  return result;
}

bool has_controller_cpu(const std::string& controllers) {
  std::istringstream names(controllers);
  for (std::string name; std::getline(names, name, ',');) {
    if (name == "cpu") return true;
  }
  return false;
}

}  // namespace

double allowed_processor_time(const std::string& root) {
  const fs::path trees = fs::path(root + "/sys/fs/cgroup");
  double result = 0.0;
  std::ifstream groups(root + "/proc/self/cgroup");
  // Each line looks like "3:cpu,cpuacct:/docker/ab" or "0::/user".
  for (std::string line; std::getline(groups, line);) {
    const size_t first = line.find(':');
    const size_t second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const std::string group = line.substr(second + 1);
    if (controllers.empty()) {
      result = smaller_limit(result, least(trees, group, limit_of_version_2));
    } else if (has_controller_cpu(controllers)) {
      // The tree of this hierarchy is mounted under the names of all its controllers together, for
      // example "cpu,cpuacct". The name of each single controller is a link to that tree.
      result = smaller_limit(result, least(trees / "cpu", group, limit_of_version_1));
    }
  }
  return result;
}

int cores_with_time(int cores, double allowed) {
  if (allowed <= 0.0 || allowed >= cores) return std::max(1, cores);
  return std::max(1, static_cast<int>(allowed));
}

int usable_processors() {
  return cores_with_time(static_cast<int>(std::thread::hardware_concurrency()),
                         allowed_processor_time());
}

}  // namespace penstock
