// How much time a control group leaves its processes, of both versions and as containers see them.
#include "launch/program/start/processor_time.h"

#include <gtest/gtest.h>

#include <string>

#include "tests/unit/launch/helpers.h"

namespace penstock {
namespace {

class ProcessorTime : public ::testing::Test {
 protected:
  void write(const std::string& path, const std::string& text) const {
    (void)root_.write(path, text);
  }
  [[nodiscard]] double allowed() const { return allowed_processor_time(root_.path()); }

 private:
  TemporaryFolder root_;
};

TEST_F(ProcessorTime, IsUnlimitedWhereNothingTells) {
  EXPECT_EQ(allowed(), 0.0);
  write("proc/self/cgroup", "0::/user.slice\n");
  EXPECT_EQ(allowed(), 0.0);
  write("sys/fs/cgroup/user.slice/cpu.max", "max 100000\n");
  EXPECT_EQ(allowed(), 0.0);
  write("sys/fs/cgroup/user.slice/cpu.max", "damaged\n");
  EXPECT_EQ(allowed(), 0.0);
}

TEST_F(ProcessorTime, IsThatOfTheNarrowestGroupAround) {
  write("proc/self/cgroup", "0::/kubepods/pod7/main\n");
  write("sys/fs/cgroup/kubepods/cpu.max", "800000 100000\n");
  write("sys/fs/cgroup/kubepods/pod7/cpu.max", "150000 100000\n");
  write("sys/fs/cgroup/kubepods/pod7/main/cpu.max", "max 100000\n");
  EXPECT_EQ(allowed(), 1.5);
}

TEST_F(ProcessorTime, IsThatOfTheRootInsideAContainer) {
  write("proc/self/cgroup", "0::/\n");
  write("sys/fs/cgroup/cpu.max", "40000 20000\n");
  EXPECT_EQ(allowed(), 2.0);
}

TEST_F(ProcessorTime, IsReadOfVersionOneToo) {
  write("proc/self/cgroup", "5:memory:/docker/ab\n4:cpu,cpuacct:/docker/ab\n1:name=systemd:/\n");
  write("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1\n");
  write("sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(allowed(), 0.0);
  write("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "250000\n");  // the container's own, seen as the root
  EXPECT_EQ(allowed(), 2.5);
  write("sys/fs/cgroup/cpu/docker/ab/cpu.cfs_quota_us", "50000\n");
  write("sys/fs/cgroup/cpu/docker/ab/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(allowed(), 0.5);
}

TEST(CoresWithTime, AreWholeAndAtLeastOne) {
  EXPECT_EQ(cores_with_time(8, 0.0), 8);
  EXPECT_EQ(cores_with_time(8, 9.0), 8);
  EXPECT_EQ(cores_with_time(8, 2.9), 2);
  EXPECT_EQ(cores_with_time(8, 0.4), 1);
  EXPECT_EQ(cores_with_time(0, 0.0), 1) << "a system that tells no number";
}

}  // namespace
}  // namespace penstock
