// Checkpoints are complete or absent: saved by several ranks, read by name, refused when damaged.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <csignal>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "runtime/checkpoint/layout.h"
#include "runtime/checkpoint/reader.h"
#include "runtime/checkpoint/writer/checkpoint_writer.h"
#include "tests/unit/checkpoint/temporary.h"
#include "tests/unit/checkpoint/thread_world.h"
#include "tests/unit/optimizer/update_device.h"

namespace penstock {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

constexpr int kLayers = 6;
constexpr int64_t kWidth = 5;

std::string name_of_layer(int layer) {
  return "blocks." + std::to_string(layer) + ".weight";
}
// Exact in fp32, so that every way of computing it gives the same bits.
float value_at(int layer, int64_t i, int64_t step) {
  return static_cast<float>(1024 * layer + i) + 0.125F * static_cast<float>(step);
}

class Checkpoints : public testing::Test {
 protected:
  [[nodiscard]] Tensor layer(int layer, int64_t step) {
    Tensor tensor = device_.empty({kWidth, layer + 1}, DType::F32, Purpose::Parameters);
    for (int64_t i = 0; i < tensor.elements(); ++i) {
      tensor.data<float>()[i] = value_at(layer, i, step);
    }
    return tensor;
  }

  // The layers spread evenly over so many ranks, and those after them: their replicas.
  CheckpointRequest request(int64_t step, int rank, int positions, int replicas = 1) {
    CheckpointRequest request;
    request.root = root_;
    request.retention = retention_;
    request.state = {step, 1ULL << 63, step * 32, 32, "0.1.0", "[run]\nsteps = \"\xC3\xA9\"\n",
                     run_};
    for (int i = 0; i < kLayers; ++i) {
      if (i * positions / kLayers != rank % positions) continue;
      request.model.push_back({{name_of_layer(i), layer(i, step)}, i});
      request.optimizer.push_back({{name_of_layer(i) + ".exp_avg", layer(i, -step)}, i});
    }
    request.replica = rank / positions;
    request.replicas = replicas;
    return request;
  }

  std::vector<std::string> save(int64_t step, int positions = 1, int replicas = 1) {
    return on_ranks(positions * replicas, [&](Collective& world) {
      const CheckpointResult result =
          CheckpointWriter(world, device_).save(request(step, world.rank(), positions, replicas));
      EXPECT_EQ(result.path, step_path(step));
      EXPECT_EQ(result.warning, "");
      EXPECT_GT(result.size_bytes, 0U);
    });
  }

  void expect_reads_back(int64_t step) { expect_reads_back(step_path(step), step); }
  void expect_reads_back(const std::string& path, int64_t step) {
    CheckpointReader reader(path);
    reader.verify();
    EXPECT_EQ(reader.state(), request(step, 0, 1).state);
    for (int i = 0; i < kLayers; ++i) {
      for (const bool optimizer : {false, true}) {
        const Tensor expected = layer(i, optimizer ? -step : step);
        Tensor found = device_.empty(expected.shape(), DType::F32, Purpose::Parameters);
        reader.read(name_of_layer(i) + (optimizer ? ".exp_avg" : ""), found, device_);
        EXPECT_EQ(std::memcmp(found.raw(), expected.raw(), found.size_bytes()), 0);
      }
    }
  }

  [[nodiscard]] std::string step_path(int64_t step) const { return root_ + "/" + step_name(step); }
  [[nodiscard]] std::vector<int64_t> steps() const {
    std::vector<int64_t> steps;
    for (const StepDirectory& found : list_checkpoints(root_)) steps.push_back(found.step);
    return steps;
  }
  [[nodiscard]] std::vector<std::string> names(const std::string& directory) const {
    std::vector<std::string> all;
    for (const auto& entry : fs::directory_iterator(directory)) {
      all.push_back(entry.path().filename().string());
    }
    std::sort(all.begin(), all.end());
    return all;
  }

  Temporary here_;
  std::string root_ = here_ / "run/checkpoints";
  Retention retention_;
  std::string run_ = "7f3a";
  UpdateDevice device_;
};

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
    for (const NamedTensor& tensor : shard.tensors) text += " " + tensor.name;
    cut.push_back(text);
  }
  EXPECT_THAT(cut, ElementsAre("0.0 a b", "0.1 c d", "0.2 large", "1.0 next"));
}

TEST_F(Checkpoints, IndexIsHuggingFaces) {
  EXPECT_THAT(save(100, 2), Each(""));
  const auto index =
      nlohmann::json::parse(contents(step_path(100) + "/model.safetensors.index.json"));
  EXPECT_EQ(index["metadata"]["total_size"], (1 + 2 + 3 + 4 + 5 + 6) * kWidth * 4);
  EXPECT_EQ(index["weight_map"].size(), 6U);
  EXPECT_EQ(index["weight_map"]["blocks.0.weight"], "model-00001-of-00006.safetensors");
  EXPECT_EQ(index["weight_map"]["blocks.5.weight"], "model-00006-of-00006.safetensors");
  const SafetensorsFile shard(step_path(100) + "/model-00001-of-00006.safetensors");
  EXPECT_EQ(shard.metadata().at("format"), "pt");
}

TEST_F(Checkpoints, ReaderListsByName) {
  EXPECT_THAT(save(1, 2), Each(""));
  const CheckpointReader reader(step_path(1));
  const auto model = reader.model();
  ASSERT_EQ(model.size(), 6U);
  EXPECT_EQ(model[5].tensor.name, "blocks.5.weight");
  EXPECT_EQ(model[5].tensor.dtype, "F32");
  EXPECT_THAT(model[5].tensor.shape, ElementsAre(kWidth, 6));
  EXPECT_EQ(model[5].file, "model-00006-of-00006.safetensors");
  EXPECT_EQ(reader.optimizer().size(), 6U);
  EXPECT_TRUE(reader.contains("blocks.3.weight.exp_avg"));
  EXPECT_FALSE(reader.contains("blocks.6.weight"));
}

TEST_F(Checkpoints, WithoutOptimizerStateThereIsNoOptimizerFile) {
  on_ranks(1, [&](Collective& world) {
    CheckpointRequest plain = request(3, 0, 1);
    plain.optimizer.clear();
    plain.model.resize(1);
    CheckpointWriter(world, device_).save(plain);
  });
  EXPECT_THAT(names(step_path(3)), ElementsAre("manifest.json", "model-00001-of-00001.safetensors",
                                               "model.safetensors.index.json", "state.json"));
  EXPECT_TRUE(CheckpointReader(step_path(3)).optimizer().empty());
}

TEST_F(Checkpoints, DamageIsNamedBeforeATensorIsRead) {
  EXPECT_THAT(save(1), Each(""));
  const std::string shard = step_path(1) + "/model-00003-of-00006.safetensors";
  const std::string good = contents(shard);
  Tensor tensor = layer(2, 0);
  const auto reading = [&] {
    CheckpointReader reader(step_path(1));
    reader.read(name_of_layer(2), tensor, device_);
  };
  std::string flipped = good;
  flipped.back() = static_cast<char>(flipped.back() ^ 1);
  put(shard, flipped);
  EXPECT_THAT(refusal(ErrorKind::Data, reading), AllOf(HasSubstr(shard), HasSubstr("checksum")));
  put(shard, good.substr(0, good.size() - 1));
  EXPECT_THAT(refusal(ErrorKind::Data, reading), AllOf(HasSubstr(shard), HasSubstr("bytes")));
  fs::remove(shard);
  EXPECT_THAT(refusal(ErrorKind::Data, reading), AllOf(HasSubstr(shard), HasSubstr("not exist")));
  put(shard, good);
  EXPECT_NO_THROW(reading());
}

// Ranks that each need a few tensors share the work of checking: none reads what it does not need.
TEST_F(Checkpoints, RanksReadTheirOwnTensorsAndCheckAShareOfTheFiles) {
  EXPECT_THAT(save(1), Each(""));
  const std::string shard = step_path(1) + "/model-00006-of-00006.safetensors";
  std::string flipped = contents(shard);
  flipped.back() = static_cast<char>(flipped.back() ^ 1);  // of the last layer
  put(shard, flipped);
  Tensor tensor = layer(2, 0);
  CheckpointReader reader(step_path(1), ShardCheck::ByCaller);
  reader.read(name_of_layer(2), tensor, device_);
  EXPECT_EQ(tensor.data<float>()[3], value_at(2, 3, 1));
  int refusals = 0;
  for (size_t part = 0; part < 3; ++part) {
    try {
      reader.verify(part, 3);
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), HasSubstr(shard));
      ++refusals;
    }
  }
  EXPECT_EQ(refusals, 1);
}

TEST_F(Checkpoints, AFlippedByteInAnyFileIsRefused) {
  EXPECT_THAT(save(1), Each(""));
  for (const std::string& file : names(step_path(1))) {
    const std::string path = step_path(1) + "/" + file;
    const std::string good = contents(path);
    for (size_t i = 0; i < good.size(); i += 41) {
      std::string bad = good;
      bad[i] = static_cast<char>(bad[i] ^ 0x10);
      put(path, bad);
      EXPECT_THROW(CheckpointReader(step_path(1)).verify(), Error) << file << " byte " << i;
    }
    put(path, good);
  }
  EXPECT_NO_THROW(CheckpointReader(step_path(1)).verify());
}

TEST_F(Checkpoints, RefusesForgedDocuments) {
  EXPECT_THAT(save(1), Each(""));
  const std::string path = step_path(1) + "/manifest.json";
  const std::string good = contents(path);
  const auto opening = [&] { const CheckpointReader reader(step_path(1)); };
  const std::vector<std::pair<std::string, std::string>> forged = {
      {"bad JSON", good.substr(0, good.size() / 2)},
      {"twice", R"({"format":1,"format":1,"files":{}})"},
      {"format 2", R"({"format":2,"files":{}})"},
      {"\"format\" is missing", R"({"files":{}})"},
      {"\"files\" is missing", R"({"format":1})"},
      {"not list state.json", R"({"format":1,"files":{}})"},
      {"plain file name", R"({"format":1,"files":{"../x":{"bytes":1,"xxh3_64":"0"}}})"},
      {"plain file name", R"({"format":1,"files":{"a\u0000":{"bytes":1,"xxh3_64":"0"}}})"},
      {"plain file name", R"({"format":1,"files":{"":{"bytes":1,"xxh3_64":"0"}}})"},
      {"\"bytes\"", R"({"format":1,"files":{"x":{"bytes":-1,"xxh3_64":"0"}}})"},
      {"not a JSON object", "[]"},
  };
  for (const auto& [what, text] : forged) {
    put(path, text);
    EXPECT_THAT(refusal(ErrorKind::Data, opening), AllOf(HasSubstr(path), HasSubstr(what)));
  }
  fs::remove(path);
  EXPECT_THAT(refusal(ErrorKind::Data, opening), HasSubstr(path));
}

// Every checksum is right, and yet the index speaks of tensors that its shards have not.
TEST_F(Checkpoints, RefusesAnIndexThatItsShardsDoNotBear) {
  EXPECT_THAT(save(1), Each(""));
  const std::string name = "model.safetensors.index.json";
  const std::string index = step_path(1) + "/" + name;
  const std::string manifest = step_path(1) + "/manifest.json";
  const std::string good = contents(index);
  const auto forge = [&](const std::string& text) {
    put(index, text);
    Manifest files = parse_manifest(contents(manifest), manifest);
    files.files[name] = digest_of(index);
    put(manifest, encode_manifest(files));
    return refusal(ErrorKind::Data, [&] { (void)CheckpointReader(step_path(1)).model(); });
  };
  const std::string first = parse_index(good, index).weight_map.begin()->first;
  std::string renamed = good;
  renamed.replace(renamed.find(first), first.size(), "another");
  EXPECT_THAT(forge(renamed), AllOf(HasSubstr(first), HasSubstr("does not place there")));
  std::string more = good;
  const size_t entry = more.find("\"" + first);
  more.insert(entry, "\"another\": " +
                         good.substr(good.find(": ", entry) + 2,
                                     good.find('\n', entry) - good.find(": ", entry) - 2) +
                         "\n");
  EXPECT_THAT(forge(more), HasSubstr("its index names"));
  EXPECT_THAT(forge(R"({"metadata":{"total_size":1},"weight_map":{"a":"../model.safetensors"}})"),
              AllOf(HasSubstr(index + ", byte 6"), HasSubstr("plain file name")));
}

TEST_F(Checkpoints, AKilledSaveIsNoCheckpointAndIsClearedByTheNext) {
  EXPECT_THAT(save(1), Each(""));
  const std::string partial = root_ + "/.step-00000002.partial";
  fs::copy(step_path(1), partial);
  EXPECT_THAT(steps(), ElementsAre(1));
  EXPECT_THAT(save(3), Each(""));
  EXPECT_FALSE(fs::exists(partial));
  EXPECT_THAT(steps(), ElementsAre(1, 3));
}

TEST_F(Checkpoints, SavingAStepAgainReplacesIt) {
  EXPECT_THAT(save(5, 2), Each(""));
  put(step_path(5) + "/notes.txt", "an older one");
  EXPECT_THAT(save(5, 3), Each(""));
  expect_reads_back(5);
  EXPECT_THAT(names(root_), ElementsAre("latest", "step-00000005"));
  EXPECT_FALSE(fs::exists(step_path(5) + "/notes.txt"));
}

TEST_F(Checkpoints, ACrashWhileReplacingLosesNothing) {
  EXPECT_THAT(save(5), Each(""));
  fs::rename(step_path(5), root_ + "/.step-00000005.replaced");  // the first of the two renames
  const std::vector<StepDirectory> found = list_checkpoints(root_);
  ASSERT_EQ(found.size(), 1U);
  expect_reads_back(found[0].path, 5);
  EXPECT_THAT(save(6), Each(""));
  expect_reads_back(5);  // under its own name again
  EXPECT_THAT(names(root_), ElementsAre("latest", "step-00000005", "step-00000006"));
}

TEST_F(Checkpoints, KeepsTheNewestAndTouchesOnlyItsOwn) {
  retention_.keep = 2;
  fs::create_directories(root_ + "/step-00000001");  // no manifest: not ours
  fs::create_directories(root_ + "/best");
  for (const int64_t step : {10, 20, 30, 40}) EXPECT_THAT(save(step), Each(""));
  EXPECT_THAT(steps(), ElementsAre(30, 40));
  EXPECT_THAT(names(root_),
              ElementsAre("best", "latest", "step-00000001", "step-00000030", "step-00000040"));
  EXPECT_THAT(save(15), Each(""));  // resumed from an early one: those of later steps stay
  EXPECT_THAT(steps(), ElementsAre(15, 30, 40));
  retention_.keep = 1;
  EXPECT_THAT(save(16), Each(""));
  EXPECT_THAT(steps(), ElementsAre(16, 30, 40));
  retention_.keep = 0;
  for (const int64_t step : {17, 18, 123456789}) EXPECT_THAT(save(step), Each(""));
  EXPECT_THAT(steps(), ElementsAre(16, 17, 18, 30, 40, 123456789));
}

// 20 steps, then 10 steps of another run into the same directory.
TEST_F(Checkpoints, AnotherRunsAreLeftAloneAndAreNotTheLatest) {
  retention_.keep = 2;
  for (const int64_t step : {10, 20}) EXPECT_THAT(save(step), Each(""));
  run_ = "another";
  for (const int64_t step : {3, 5, 8}) EXPECT_THAT(save(step), Each(""));
  EXPECT_THAT(steps(), ElementsAre(5, 8, 10, 20));
  EXPECT_EQ(latest_checkpoint(root_)->step, 8);
  EXPECT_THAT(save(10),
              Each(AllOf(StartsWith("3 "), HasSubstr(step_path(10)), HasSubstr("this run"))));
  run_ = "7f3a";
  expect_reads_back(10);
}

TEST_F(Checkpoints, EveryNthStays) {
  retention_ = {.keep = 2, .keep_every = 100};
  // By the clock: the first of every hundred.
  for (const int64_t step : {40, 80, 120, 160, 199, 260, 290, 500, 510, 520}) {
    EXPECT_THAT(save(step), Each(""));
  }
  EXPECT_THAT(steps(), ElementsAre(120, 260, 500, 510, 520));
}

TEST_F(Checkpoints, LatestIsAlwaysACompleteOne) {
  EXPECT_FALSE(latest_checkpoint(root_));
  for (const int64_t step : {5, 6}) EXPECT_THAT(save(step), Each(""));
  EXPECT_EQ(fs::read_symlink(root_ + "/latest"), "step-00000006");
  expect_reads_back(root_ + "/latest", 6);
  const auto latest = [&] { return latest_checkpoint(root_).value().step; };
  // A crash before the new one had its name, and one before `latest` was moved.
  fs::create_symlink("step-00000007", root_ + "/.latest.next");
  EXPECT_EQ(latest(), 6);
  EXPECT_THAT(save(8), Each(""));
  EXPECT_THAT(names(root_),
              ElementsAre("latest", "step-00000005", "step-00000006", "step-00000008"));
  fs::remove(root_ + "/latest");
  fs::create_symlink("step-00000006", root_ + "/latest");
  EXPECT_EQ(latest(), 6) << "as somebody wants it";
  fs::create_symlink("step-00000008", root_ + "/.latest.next");
  EXPECT_EQ(latest(), 8);
  EXPECT_EQ(clear_leftovers(root_), "");
  EXPECT_EQ(fs::read_symlink(root_ + "/latest"), "step-00000008");
  // Not a name of ours, or gone.
  for (const char* target : {"../elsewhere", "step-00000009", "/", "step-5"}) {
    fs::remove(root_ + "/latest");
    fs::create_symlink(target, root_ + "/latest");
    EXPECT_EQ(latest(), 8) << target;
  }
}

TEST_F(Checkpoints, ALinkToACheckpointIsOne) {
  EXPECT_THAT(save(1), Each(""));
  const std::string elsewhere = here_ / "elsewhere";
  fs::rename(step_path(1), elsewhere);
  fs::create_symlink(elsewhere, step_path(1));
  EXPECT_THAT(steps(), ElementsAre(1));
  expect_reads_back(1);
  retention_.keep = 1;
  EXPECT_THAT(save(2), Each(""));
  EXPECT_THAT(steps(), ElementsAre(2));
  EXPECT_FALSE(fs::is_symlink(step_path(1)));
  run_ = "7f3a";
  expect_reads_back(elsewhere, 1);  // the link alone is gone
}

TEST_F(Checkpoints, WhatIsInTheWayStays) {
  fs::create_directories(root_);
  put(step_path(1), "mine");
  fs::create_directories(step_path(2) + "/folder");
  for (const int64_t step : {1, 2}) {
    EXPECT_THAT(save(step, 2), Each(AllOf(StartsWith("3 "), HasSubstr(step_path(step)))));
  }
  EXPECT_THAT(names(root_), ElementsAre("step-00000001", "step-00000002"));
  EXPECT_EQ(contents(step_path(1)), "mine");
}

// As a run does it: the tensors change while they are written, and nobody waits.
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

TEST_F(Checkpoints, ListsOnlyExactNames) {
  EXPECT_THAT(steps(), IsEmpty());
  EXPECT_THAT(save(9), Each(""));
  for (const char* other : {"step-8", "step-000000007", "step-00000006x", "step-", "Step-00000003",
                            "step--0000005", "x.step-00000004.replaced"}) {
    fs::copy(step_path(9), root_ + "/" + other);
  }
  EXPECT_THAT(steps(), ElementsAre(9));
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
  if (geteuid() == 0) GTEST_SKIP() << "root may remove everything: run this as another user";
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
