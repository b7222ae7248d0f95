// Checkpoints are complete or absent: saved by several ranks, read by name, refused when damaged.
#include "runtime/checkpoint/checkpoint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <csignal>
#include <nlohmann/json.hpp>

#include "runtime/checkpoint/layout.h"
#include "runtime/checkpoint/reader.h"
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

  // The layers spread evenly over `writers` ranks; the other ranks of the world bring nothing.
  CheckpointRequest request(int64_t step, int rank, int writers) {
    CheckpointRequest request;
    request.root = root_;
    request.keep = keep_;
    request.state = {step, 1ULL << 63, step * 32, 32, "0.1.0", "[run]\nsteps = \"\xC3\xA9\"\n"};
    for (int i = 0; i < kLayers; ++i) {
      if (i * writers / kLayers != rank) continue;
      request.model.push_back({name_of_layer(i), layer(i, step)});
      request.optimizer.push_back({name_of_layer(i) + ".exp_avg", layer(i, -step)});
    }
    return request;
  }

  std::vector<std::string> save(int64_t step, int ranks = 1, int writers = 0) {
    if (writers == 0) writers = ranks;
    return on_ranks(ranks, [&](Collective& world) {
      const CheckpointResult result =
          save_checkpoint(request(step, world.rank(), writers), world, device_);
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
  int keep_ = 0;
  UpdateDevice device_;
};

TEST_F(Checkpoints, AnyNumberOfRanksWritesTheSameTensors) {
  int64_t step = 0;
  for (const int ranks : {1, 2, 3, 6}) {
    ++step;
    EXPECT_THAT(save(step, ranks), Each(""));
    expect_reads_back(step);
  }
}

TEST_F(Checkpoints, ReplicasThatBringNothingGetNoShard) {
  EXPECT_THAT(save(7, 4, 2), Each(""));
  expect_reads_back(7);
  EXPECT_THAT(
      names(step_path(7)),
      ElementsAre("manifest.json", "model-00001-of-00002.safetensors",
                  "model-00002-of-00002.safetensors", "model.safetensors.index.json",
                  "optimizer-00001-of-00002.safetensors", "optimizer-00002-of-00002.safetensors",
                  "optimizer.safetensors.index.json", "state.json"));
}

TEST_F(Checkpoints, IndexIsHuggingFaces) {
  EXPECT_THAT(save(100, 2), Each(""));
  const auto index =
      nlohmann::json::parse(contents(step_path(100) + "/model.safetensors.index.json"));
  EXPECT_EQ(index["metadata"]["total_size"], (1 + 2 + 3 + 4 + 5 + 6) * kWidth * 4);
  EXPECT_EQ(index["weight_map"].size(), 6U);
  EXPECT_EQ(index["weight_map"]["blocks.0.weight"], "model-00001-of-00002.safetensors");
  EXPECT_EQ(index["weight_map"]["blocks.5.weight"], "model-00002-of-00002.safetensors");
  const SafetensorsFile shard(step_path(100) + "/model-00001-of-00002.safetensors");
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
  EXPECT_EQ(model[5].file, "model-00002-of-00002.safetensors");
  EXPECT_EQ(reader.optimizer().size(), 6U);
  EXPECT_TRUE(reader.contains("blocks.3.weight.exp_avg"));
  EXPECT_FALSE(reader.contains("blocks.6.weight"));
}

TEST_F(Checkpoints, WithoutOptimizerStateThereIsNoOptimizerFile) {
  on_ranks(1, [&](Collective& world) {
    CheckpointRequest plain = request(3, 0, 1);
    plain.optimizer.clear();
    save_checkpoint(plain, world, device_);
  });
  EXPECT_THAT(names(step_path(3)), ElementsAre("manifest.json", "model-00001-of-00001.safetensors",
                                               "model.safetensors.index.json", "state.json"));
  EXPECT_TRUE(CheckpointReader(step_path(3)).optimizer().empty());
}

TEST_F(Checkpoints, DamageIsNamedBeforeATensorIsRead) {
  EXPECT_THAT(save(1), Each(""));
  const std::string shard = step_path(1) + "/model-00001-of-00001.safetensors";
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
  const std::string shard = step_path(1) + "/model-00001-of-00001.safetensors";
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
  EXPECT_THAT(names(root_), ElementsAre("step-00000005"));
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
  EXPECT_THAT(names(root_), ElementsAre("step-00000005", "step-00000006"));
}

TEST_F(Checkpoints, KeepsTheNewestAndTouchesOnlyItsOwn) {
  keep_ = 2;
  fs::create_directories(root_ + "/step-00000001");  // no manifest: not ours
  fs::create_directories(root_ + "/best");
  for (const int64_t step : {10, 20, 30, 40}) EXPECT_THAT(save(step), Each(""));
  EXPECT_THAT(steps(), ElementsAre(30, 40));
  EXPECT_THAT(names(root_), ElementsAre("best", "step-00000001", "step-00000030", "step-00000040"));
  EXPECT_THAT(save(15), Each(""));  // resumed from an early one: what was just saved stays
  EXPECT_THAT(steps(), ElementsAre(15, 40));
  keep_ = 1;
  EXPECT_THAT(save(16), Each(""));
  EXPECT_THAT(steps(), ElementsAre(16));
  keep_ = 0;
  for (const int64_t step : {17, 18, 123456789}) EXPECT_THAT(save(step), Each(""));
  EXPECT_THAT(steps(), ElementsAre(16, 17, 18, 123456789));
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
    CheckpointRequest mine = request(1, world.rank(), 3);
    if (world.rank() == 1) {
      mine.model.push_back({"large", device_.zeros({1 << 17}, DType::F32, Purpose::Parameters)});
    }
    save_checkpoint(mine, world, device_);
  });
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &usual), 0);
  std::signal(SIGXFSZ, SIG_DFL);
  EXPECT_THAT(errors, Each(AllOf(StartsWith("3 "), HasSubstr("rank 1"),
                                 HasSubstr("model-00002-of-00003.safetensors"))));
  EXPECT_THAT(names(root_), ElementsAre("step-00000001"));
  expect_reads_back(1);
}

TEST_F(Checkpoints, ATensorOnTwoRanksIsABug) {
  const std::vector<std::string> errors = on_ranks(2, [&](Collective& world) {
    CheckpointRequest mine = request(1, 0, 1);
    save_checkpoint(mine, world, device_);
  });
  EXPECT_THAT(errors, Each(AllOf(StartsWith("1 "), HasSubstr("blocks.0.weight"))));
  EXPECT_THAT(names(root_), IsEmpty());
}

TEST_F(Checkpoints, AnOldOneThatCannotBeRemovedIsAWarning) {
  if (geteuid() == 0) GTEST_SKIP() << "root may remove everything: run this as another user";
  keep_ = 1;
  EXPECT_THAT(save(1), Each(""));
  fs::permissions(step_path(1), fs::perms::owner_read | fs::perms::owner_exec);
  for (const int64_t step : {2, 3}) {
    std::vector<std::string> warnings(2);
    on_ranks(2, [&](Collective& world) {
      warnings[static_cast<size_t>(world.rank())] =
          save_checkpoint(request(step, world.rank(), 2), world, device_).warning;
    });
    EXPECT_THAT(warnings, Each(HasSubstr(".step-00000001.partial")));
    expect_reads_back(step);
  }
  fs::permissions(root_ + "/.step-00000001.partial", fs::perms::owner_all);
}

}  // namespace
}  // namespace penstock
