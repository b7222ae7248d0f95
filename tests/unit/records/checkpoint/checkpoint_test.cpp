// What a checkpoint holds: read by name, refused when damaged.
#include <nlohmann/json.hpp>

#include "kernels/bfloat16.h"
#include "tests/unit/records/checkpoint/checkpoints.h"

namespace penstock {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;

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

// A run may go on in another precision, and a frozen matrix is then kept in another type.
TEST_F(Checkpoints, NumbersOfTheModelAreReadInEitherType) {
  const auto filled = [&](DType type) {
    Tensor tensor = device_.empty({3, 1001}, type, Purpose::Parameters);
    for (int64_t i = 0; i < tensor.elements(); ++i) {
      const float number = 1.0F + static_cast<float>(i) / 512.0F;
      if (type == DType::F32) tensor.data<float>()[i] = number;
      if (type == DType::BF16) tensor.data<bfloat16>()[i] = number;
    }
    return tensor;
  };
  CheckpointRequest asked = request(1, 0, 1);
  asked.model.push_back({{"wide", filled(DType::F32)}, 0});
  asked.model.push_back({{"narrow", filled(DType::BF16)}, 0});
  (void)on_ranks(1, [&](Collective& world) { (void)CheckpointWriter(world, device_).save(asked); });
  CheckpointReader reader(step_path(1));
  for (const bool addressable : {true, false}) {
    UpdateDevice device(addressable);
    Tensor wide = device.empty({3, 1001}, DType::F32, Purpose::Parameters);
    Tensor narrow = device.empty({3, 1001}, DType::BF16, Purpose::Parameters);
    for (const char* name : {"wide", "narrow"}) {
      reader.read(name, narrow, device);
      const Tensor rounded = filled(DType::BF16);
      EXPECT_EQ(std::memcmp(narrow.raw(), rounded.raw(), rounded.size_bytes()), 0) << name;
    }
    reader.read("narrow", wide, device);
    std::vector<float> part(7);
    reader.read_numbers("narrow", 1000, part);
    for (int64_t i = 0; i < wide.elements(); ++i) {
      ASSERT_EQ(wide.data<float>()[i], static_cast<float>(narrow.data<bfloat16>()[i]));
      if (i >= 1000 && i < 1007) {
        ASSERT_EQ(part[static_cast<size_t>(i - 1000)], wide.data<float>()[i]);
      }
    }
    Tensor turned = device.empty({1001, 3}, DType::F32, Purpose::Parameters);
    EXPECT_THAT(refusal(ErrorKind::Input, [&] { reader.read("narrow", turned, device); }),
                AllOf(HasSubstr("\"narrow\""), HasSubstr("[3, 1001]"), HasSubstr("[1001, 3]")));
  }
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

// mergekit writes other metadata, Unsloth none: such folders were refused as damaged.
TEST(IndexesOfOthers, NeedNoTotalSize) {
  for (const std::string metadata :
       {"", R"("metadata": {}, )", R"("metadata": {"mergekit_version": "0.1"}, )",
        R"("metadata": {"total_size": 1.5e9}, )", R"("metadata": {"total_size": "9"}, )",
        R"("metadata": null, )", R"("metadata": {"total_size": {"a": [1]}}, )"}) {
    const ShardIndex index = parse_index("{" + metadata + R"("weight_map": {"a": "b"}})", "x.json");
    EXPECT_EQ(index.weight_map, (std::map<std::string, std::string>{{"a", "b"}})) << metadata;
    EXPECT_EQ(index.total_size_bytes, 0U) << metadata;
  }
}

}  // namespace
}  // namespace penstock
