// Runs that name no directory get one of their own each.
#include "runtime/records/run_directory/numbered.h"

#include <gmock/gmock.h>

#include <barrier>
#include <set>
#include <thread>
#include <vector>

#include "folder.h"

namespace penstock {
namespace {

using testing::HasSubstr;

TEST(Numbered, CountsFromTheHighest) {
  const RunFolder folder;
  const std::string runs = folder / "runs";
  EXPECT_EQ(newest_numbered(runs, "small"), std::nullopt);
  EXPECT_EQ(make_numbered(runs, "small"), runs + "/small-1");
  for (const char* name : {"small-7", "small-08", "small-x", "smaller-9", "small-10.old"}) {
    std::filesystem::create_directories(runs + "/" + name);
  }
  EXPECT_EQ(make_numbered(runs, "small"), runs + "/small-8");
  EXPECT_EQ(newest_numbered(runs, "small"), runs + "/small-8");
  EXPECT_EQ(make_numbered(runs, "smaller"), runs + "/smaller-10");
}

TEST(Numbered, TwoAtOnceGetTwo) {
  const RunFolder folder;
  constexpr int kJobs = 4;
  constexpr int kRounds = 30;
  std::vector<std::string> paths(static_cast<size_t>(kJobs) * kRounds);
  std::barrier together(kJobs);
  std::vector<std::thread> jobs;
  for (size_t job = 0; job < kJobs; ++job) {
    jobs.emplace_back([&, job] {
      for (size_t round = 0; round < kRounds; ++round) {
        together.arrive_and_wait();
        paths[round * kJobs + job] = make_numbered(folder / "runs", "run");
      }
    });
  }
  for (std::thread& job : jobs) job.join();
  EXPECT_EQ(std::set<std::string>(paths.begin(), paths.end()).size(), paths.size());
}

TEST(Numbered, LatestIsARelativeLinkThatMoves) {
  const RunFolder folder;
  const std::string runs = folder / "runs";
  for (const char* name : {"a-1", "b-1"}) {
    folder.write(std::string("runs/") + name + "/who", name);
    EXPECT_EQ(point_latest_to(runs + "/" + name), "");
    EXPECT_EQ(folder.read("runs/latest/who"), name);
  }
  EXPECT_EQ(std::filesystem::read_symlink(runs + "/latest"), "b-1");
  std::filesystem::rename(runs, folder / "moved");
  EXPECT_EQ(folder.read("moved/latest/who"), "b-1");
}

// Made by versions whose every run went there.
TEST(Numbered, ADirectoryCalledLatestKeepsItsContent) {
  const RunFolder folder;
  folder.write("runs/latest/metrics.jsonl", "old");
  folder.write("runs/a-1/x", "new");
  EXPECT_THAT(point_latest_to(folder / "runs/a-1"), HasSubstr("runs/run-1"));
  EXPECT_EQ(folder.read("runs/run-1/metrics.jsonl"), "old");
  EXPECT_EQ(folder.read("runs/latest/x"), "new");
}

}  // namespace
}  // namespace penstock
