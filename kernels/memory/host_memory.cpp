#include "kernels/memory/host_memory.h"

#include <unistd.h>

#include <algorithm>
#include <fstream>

#include "kernels/parse_number.h"

namespace penstock {
namespace {

using Limit = std::optional<int64_t>;

Limit smaller(Limit a, Limit b) {
  if (!a || !b) return a ? a : b;
  return std::min(*a, *b);
}

// Returns the number in a file of a control group, or nothing if the file sets no limit. A file
// that sets none says "max" in version 2, and in version 1 the largest multiple of a page that a
// signed number holds.
Limit limit_in(const std::string& path) {
  constexpr int64_t kNone = int64_t{1} << 62;
  std::ifstream file(path);
  std::string word;
  if (!(file >> word)) return std::nullopt;
  const Limit bytes = parse_number<int64_t>(word);
  return bytes && *bytes < kNone ? bytes : std::nullopt;
}

// Returns the lowest limit of the group at `path` below `mount` and of all groups above it. If a
// container sees only a part of the tree, a group that is missing there limits nothing, and the
// mount itself is the container's own group.
Limit limit_up_from(const std::string& mount, std::string path, const std::string& file) {
  if (path.find("/..") != std::string::npos) path.clear();
  const auto limit_at = [&](const std::string& group) {
    return limit_in(std::string(mount).append(group).append("/").append(file));
  };
  Limit limit = limit_at("");
  while (path.size() > 1) {
    limit = smaller(limit, limit_at(path));
    path.resize(path.find_last_of('/'));
  }
  return limit;
}

bool names_memory(const std::string& controllers) {
  return ("," + controllers + ",").find(",memory,") != std::string::npos;
}

}  // namespace

// Returns the lowest memory limit of this process's groups. The file of groups has lines
// "hierarchy:controllers:path". Version 2 has hierarchy 0 and names no controllers.
std::optional<int64_t> cgroup_memory_limit(const std::string& root) {
  const std::string mounts = root + "/sys/fs/cgroup";
  std::ifstream groups(root + "/proc/self/cgroup");
  Limit limit;
  for (std::string line; std::getline(groups, line);) {
    const size_t first = line.find(':');
    const size_t second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const std::string path = line.substr(second + 1);
    if (controllers.empty()) {
      limit = smaller(limit, limit_up_from(mounts, path, "memory.max"));
      limit = smaller(limit, limit_up_from(mounts + "/unified", path, "memory.max"));
    } else if (names_memory(controllers)) {
      limit = smaller(limit, limit_up_from(mounts + "/memory", path, "memory.limit_in_bytes"));
    }
  }
  return limit;
}

int64_t host_memory_bytes(const std::string& root) {
  const int64_t machine = static_cast<int64_t>(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGESIZE);
  return std::min(machine, cgroup_memory_limit(root).value_or(machine));
}

}  // namespace penstock
