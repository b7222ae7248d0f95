// How checkpoints are written: by all ranks, while training goes on, and when it fails.
#include <sys/resource.h>

#include <csignal>
#include <map>
#include <set>

#include "tests/unit/records/checkpoint/checkpoints.h"

namespace penstock {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

// Byte for byte: the state alone says which step it was.
TEST_F(Checkpoints, AnyNumberOfRanksWritesTheSameShards) {
  EXPECT_THAT(save(1), Each(""));
  std::map<std::string, std::string> first;
  for (const std::string& file : names(step_path(1)))
    first[file] = contents(step_path(1) + "/" + file);
  EXPECT_EQ(first.size(), 2U * kLayers + 4);
  for (const auto& [positions, replicas] :
       std::vector<std::pair<int, int>>{{2, 1}, {3, 1}, {6, 1}, {1, 2}, {2, 3}, {1, 5}}) {
    fs::remove_all(root_);
    EXPECT_THAT(save(1, positions, replicas), Each(""));
    for (const auto& [file, bytes] : first) {
      EXPECT_EQ(contents(step_path(1) + "/" + file), bytes)
          << file << " of " << positions << " x " << replicas;
    }
  }
}

TEST_F(Checkpoints, EveryReplicaWritesItsShare) {
  std::vector<Shard> all;
  for (int i = 0; i < kLayers; ++i)
    all.push_back({"model", i, 0, {{name_of_layer(i), layer(i, 0)}}});
  uint64_t most = 0;
  std::set<int64_t> written;
  for (int replica = 0; replica < 3; ++replica) {
    uint64_t bytes = 0;
    for (const Shard& shard : share_of(all, replica, 3)) {
      EXPECT_TRUE(written.insert(shard.layer).second);
      bytes += shard.size_bytes();
    }
    most = std::max(most, bytes);
  }
  EXPECT_EQ(written.size(), 6U);
  EXPECT_EQ(most, 7 * kWidth * 4);  // of 1 + 2 + 3 + 4 + 5 + 6 a third
}

TEST_F(Checkpoints, ALargeLayerHasSeveralShards) {
  std::vector<PlacedTensor> tensors;
  for (const char* name : {"d", "a", "c", "b"}) tensors.push_back({{name, layer(3, 0)}, 0});
  tensors.push_back({{"large", layer(5, 0)}, 0});
  tensors.push_back({{"next", layer(0, 0)}, 1});
  std::vector<std::string> cut;
  for (const Shard& shard : cut_shards("model", tensors, 2 * 4 * kWidth * 4)) {
    std::string text = std::to_string(shard.layer) + "." + std::to_string(shard.piece);
    for (const PlacedTensor& tensor : shard.tensors) text += " " + tensor.named.name;
    cut.push_back(text);
  }
  EXPECT_THAT(cut, ElementsAre("0.0 a b", "0.1 c d", "0.2 large", "1.0 next"));
}

// The tensors change while they are written, and nobody waits, as in a run.
TEST_F(Checkpoints, ASnapshotIsWrittenWhileTrainingGoesOn) {
  for (const bool in_host_memory : {true, false}) {
    fs::remove_all(root_);
    const auto write_two = [&](Collective& world) {
      UpdateDevice device(in_host_memory);
      CheckpointWriter writer(world, device);
      EXPECT_FALSE(writer.under_way());
      for (const int64_t step : {1, 2}) {
        const CheckpointRequest mine = request(step, world.rank(), 2);
        writer.begin(mine);
        for (const PlacedTensor& tensor : mine.model) {
          std::memset(tensor.named.tensor.raw(), 0x7f, tensor.named.tensor.size_bytes());
        }
        EXPECT_EQ(writer.snapshot_bytes(), 2 * (world.rank() == 0 ? 6 : 15) * kWidth * 4);
        EXPECT_FALSE(writer.advance());
        EXPECT_EQ(writer.advance().value().path, step_path(step));
        EXPECT_FALSE(writer.under_way());
        EXPECT_FALSE(writer.finish());
      }
      EXPECT_EQ(device.largest_copy() > 0, !in_host_memory);
    };
    EXPECT_THAT(on_ranks(2, write_two), Each(""));
    for (const int64_t step : {1, 2}) expect_reads_back(step);
  }
}

TEST_F(Checkpoints, ARunThatEndsInTheMiddleLeavesNothing) {
  EXPECT_THAT(save(1), Each(""));
  on_ranks(2, [&](Collective& world) {
    CheckpointWriter writer(world, device_);
    writer.begin(request(2, world.rank(), 2));
  });
  EXPECT_THAT(names(root_), ElementsAre("latest", "step-00000001"));
}

TEST_F(Checkpoints, AnUnusableDirectoryFailsOnAllRanks) {
  fs::create_directories(here_ / "run");
  put(root_, "a file where the directory should be");
  EXPECT_THAT(save(1, 3), Each(AllOf(StartsWith("3 "), HasSubstr(root_))));
  EXPECT_EQ(contents(root_), "a file where the directory should be");
}

// One rank's write fails as on a full disk: its shard is larger than the file size limit.
TEST_F(Checkpoints, AFullDiskOnOneRankFailsOnAllAndLeavesTheEarlierOnes) {
  EXPECT_THAT(save(1, 3), Each(""));
  rlimit usual{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &usual), 0);
  const rlimit small{size_t{256} << 10, usual.rlim_max};
  std::signal(SIGXFSZ, SIG_IGN);
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  const std::vector<std::string> errors = on_ranks(3, [&](Collective& world) {
    CheckpointWriter writer(world, device_);
    CheckpointRequest mine = request(1, world.rank(), 3);
    if (world.rank() == 1) {
      mine.model.push_back(
          {{"large", device_.zeros({1 << 17}, DType::F32, Purpose::Parameters)}, kLayers});
    }
    try {
      writer.begin(mine);
      writer.finish();
      ADD_FAILURE() << "complete";
    } catch (const Error& error) {
      EXPECT_EQ(error.scope(), ErrorScope::EveryRank);
    }
    EXPECT_FALSE(fs::exists(root_ + "/.step-00000001.partial"));
    writer.begin(request(2, world.rank(), 3));  // the disk has room again
    writer.finish();
    writer.save(mine);
  });
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &usual), 0);
  std::signal(SIGXFSZ, SIG_DFL);
  EXPECT_THAT(errors, Each(AllOf(StartsWith("3 "), HasSubstr("rank 1"),
                                 HasSubstr("model-00007-of-00007.safetensors"))));
  EXPECT_THAT(names(root_), ElementsAre("latest", "step-00000001", "step-00000002"));
  expect_reads_back(1);
}

TEST_F(Checkpoints, ATensorOnTwoRanksIsABug) {
  const std::vector<std::string> errors = on_ranks(
      2, [&](Collective& world) { CheckpointWriter(world, device_).save(request(1, 0, 1)); });
  EXPECT_THAT(errors, Each(AllOf(StartsWith("1 "), HasSubstr(".weight is in both"))));
  EXPECT_THAT(names(root_), IsEmpty());
}

TEST_F(Checkpoints, AnOldOneThatCannotBeRemovedIsAWarning) {
  if (geteuid() == 0) {
    GTEST_SKIP() << "needs another user than root, who may remove everything: run without sudo";
  }
  retention_.keep = 1;
  EXPECT_THAT(save(1), Each(""));
  fs::permissions(step_path(1), fs::perms::owner_read | fs::perms::owner_exec);
  for (const int64_t step : {2, 3}) {
    std::vector<std::string> warnings(2);
    on_ranks(2, [&](Collective& world) {
      warnings[static_cast<size_t>(world.rank())] =
          CheckpointWriter(world, device_).save(request(step, world.rank(), 2)).warning;
    });
    EXPECT_THAT(warnings, Each(HasSubstr(".step-00000001.partial")));
    expect_reads_back(step);
  }
  fs::permissions(root_ + "/.step-00000001.partial", fs::perms::owner_all);
}

}  // namespace
}  // namespace penstock
