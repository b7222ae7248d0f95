// kernels/memory/host_memory.h -- how much memory the processes of a host may use: what the machine
// has, or less where a batch system or a container holds them to less (Linux control groups).
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace penstock {

// Bytes: the smallest limit of the control groups that this process is in and of the groups above,
// version 2 (memory.max) and version 1 (memory.limit_in_bytes). Null where nothing limits it or
// nothing can be read. `root`: what stands for "/", which is another folder in tests.
[[nodiscard]] std::optional<int64_t> cgroup_memory_limit(const std::string& root);

// Bytes that all processes of this host together may use; at most the machine's memory.
[[nodiscard]] int64_t host_memory_bytes(const std::string& root = "/");

}  // namespace penstock
