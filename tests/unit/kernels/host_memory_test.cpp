// What a batch system or a container leaves of a host's memory, in trees of files like those of
// /proc and /sys.
#include "kernels/memory/host_memory.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "tests/support/temporary_folder.h"

namespace penstock {
namespace {

class HostMemory : public testing::Test {
 protected:
  void write(const std::string& path, const std::string& text) const {
    (void)root_.write(path, text + "\n");
  }
  [[nodiscard]] std::optional<int64_t> limit() const { return cgroup_memory_limit(root_.path()); }

  const TemporaryFolder root_;
};

TEST_F(HostMemory, WithoutControlGroupsIsTheMachines) {
  EXPECT_EQ(limit(), std::nullopt);
  const int64_t machine = int64_t{sysconf(_SC_PHYS_PAGES)} * sysconf(_SC_PAGESIZE);
  EXPECT_EQ(host_memory_bytes(root_.path()), machine);
}

// A Slurm step: the job has the limit, the task has none of its own.
TEST_F(HostMemory, OfVersionTwoIsTheSmallestLimitUpTheTree) {
  write("proc/self/cgroup", "0::/system.slice/job_7/step_0/task_1");
  write("sys/fs/cgroup/system.slice/job_7/step_0/task_1/memory.max", "max");
  write("sys/fs/cgroup/system.slice/job_7/memory.max", "4000000000");
  EXPECT_EQ(limit(), 4000000000);
  write("sys/fs/cgroup/system.slice/memory.max", "9000000000");
  EXPECT_EQ(limit(), 4000000000);
  write("sys/fs/cgroup/system.slice/job_7/step_0/memory.max", "3000000000");
  EXPECT_EQ(limit(), 3000000000);
  EXPECT_EQ(host_memory_bytes(root_.path()),
            std::min<int64_t>(3000000000, host_memory_bytes("/nowhere")));
}

TEST_F(HostMemory, OfVersionOneIsThatOfTheMemoryController) {
  write("proc/self/cgroup",
        "12:cpu,cpuacct:/slurm/uid_1\n9:memory:/slurm/uid_1/job_2\n3:memorytax:/slurm\n1:name=x:/");
  write("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712");
  EXPECT_EQ(limit(), std::nullopt);
  write("sys/fs/cgroup/memory/slurm/uid_1/memory.limit_in_bytes", "5000000000");
  write("sys/fs/cgroup/cpu/slurm/uid_1/memory.limit_in_bytes", "1");
  EXPECT_EQ(limit(), 5000000000);
  write("sys/fs/cgroup/memory/slurm/uid_1/job_2/memory.limit_in_bytes", "2000000000");
  EXPECT_EQ(limit(), 2000000000);
}

// A container sees its own group as the root, by whatever path the host calls it.
TEST_F(HostMemory, OfAContainerIsAtTheMount) {
  write("sys/fs/cgroup/memory.max", "1000000000");
  for (const char* path : {"0::/", "0::/docker/f00", "0::/../../other"}) {
    write("proc/self/cgroup", path);
    EXPECT_EQ(limit(), 1000000000) << path;
  }
}

TEST_F(HostMemory, WhatCannotBeReadLimitsNothing) {
  write("proc/self/cgroup", "no colons\n0:\n0::/a");
  write("sys/fs/cgroup/a/memory.max", "lots");
  EXPECT_EQ(limit(), std::nullopt);
  write("sys/fs/cgroup/memory.max", "");
  EXPECT_EQ(limit(), std::nullopt);
}

}  // namespace
}  // namespace penstock
