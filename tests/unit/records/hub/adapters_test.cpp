// Folders of adapters as peft writes them, in and out, and adapters that become part of the
// weights.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "runtime/records/checkpoint/writer/checkpoint_writer.h"
#include "runtime/records/hub/adapters/adapter_folder.h"
#include "runtime/records/hub/adapters/adapter_weights.h"
#include "runtime/records/hub/adapters/export_adapter.h"
#include "runtime/records/hub/kept_folder.h"
#include "tests/unit/records/checkpoint/thread_world.h"
#include "tests/unit/records/hub/folders.h"

namespace penstock {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr int64_t kRank = 2;

// Adapters beside the matrices of folders.h's GPT-2 whose names end so inside its blocks.
std::vector<HubTensor> gpt2_adapters(const std::vector<std::string>& layers) {
  std::vector<HubTensor> all;
  for (const HubTensor& tensor : gpt2_network()) {
    for (const std::string& layer : layers) {
      const std::string::size_type dot = tensor.name.rfind('.');
      const std::string name = tensor.name.substr(0, dot);
      if (!name.ends_with(layer) || tensor.shape.size() != 2) continue;
      all.push_back({name + ".lora_a", {kRank, tensor.shape[1]}});
      all.push_back({name + ".lora_b", {tensor.shape[0], kRank}});
    }
  }
  return all;
}

class Adapters : public testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::create_directory(base_);
    put(base_ + "/config.json", kGpt2Config);
    put_tensors(base_ + "/model.safetensors", gpt2_tensors());
    keep_folder(base_, kept_);
    lora_.rank = kRank;
    lora_.alpha = 6.0;
  }

  Tensor numbered(const std::vector<int64_t>& shape, size_t number) {
    Tensor value =
        device_.empty(Shape(std::span<const int64_t>(shape)), DType::F32, Purpose::Parameters);
    for (int64_t i = 0; i < value.elements(); ++i) {
      static_cast<float*>(value.raw())[i] = number_at(number, i);
    }
    return value;
  }

  // The base's weights, matrices in that type, and those adapters; `averages` are of these.
  std::string checkpoint(const std::vector<HubTensor>& adapters, bool averages = false,
                         DType matrices = DType::F32) {
    HubWeights weights(base_, hub_family("gpt2"), 2);
    CheckpointRequest request;
    request.root = here_ / "run/checkpoints";
    for (const HubTensor& tensor : gpt2_network()) {
      const Shape shape{std::span<const int64_t>(tensor.shape)};
      Tensor value =
          device_.empty(shape, shape.rank() == 2 ? matrices : DType::F32, Purpose::Parameters);
      weights.read(tensor.name, value, device_);
      request.model.push_back({{tensor.name, value}, 0});
    }
    for (size_t i = 0; i < adapters.size(); ++i) {
      const Tensor value = numbered(adapters[i].shape, i);
      const Tensor unused = numbered(adapters[i].shape, i + 1);
      request.model.push_back({{adapters[i].name, averages ? unused : value}, 0});
      if (averages) request.optimizer.push_back({{adapters[i].name + ".average", value}, 0});
    }
    std::string path;
    on_ranks(
        1, [&](Collective& world) { path = CheckpointWriter(world, device_).save(request).path; });
    return path;
  }

  [[nodiscard]] ExportRequest request(const std::string& checkpoint) {
    return {.checkpoint = checkpoint,
            .folder = kept_,
            .to = to_,
            .shard_bytes = 1 << 20,
            .lora = lora_};
  }

  std::vector<float> read(const AdapterWeights& weights, const HubTensor& tensor,
                          bool addressable = true) {
    UpdateDevice device(addressable);
    Tensor to = device.empty(Shape(std::span<const int64_t>(tensor.shape)), DType::F32,
                             Purpose::Parameters);
    weights.read(tensor.name, to, device);
    return floats_of(to);
  }

  TemporaryFolder here_;
  std::string base_ = here_ / "published";
  std::string kept_ = here_ / "run/folder";
  std::string to_ = here_ / "out/adapters";
  UpdateDevice device_;
  LoraConfig lora_;
};

TEST_F(Adapters, EveryNumberInItsPlace) {
  std::filesystem::create_directories(to_);
  const std::string file = to_ + "/adapter_model.safetensors";
  const std::string block = "base_model.model.transformer.h.";
  const std::vector<TheirTensor> theirs = {{block + "0.mlp.c_fc.lora_A.weight", {2, 4}},
                                           {block + "0.mlp.c_fc.lora_B.weight", {16, 2}},
                                           {block + "1.mlp.c_fc.lora_A.weight", {2, 4}},
                                           {block + "1.mlp.c_fc.lora_B.weight", {16, 2}}};
  const std::vector<HubTensor> ours = gpt2_adapters({"feed_forward.in"});
  ASSERT_EQ(ours.size(), 4U);
  for (const std::string dtype : {"F32", "BF16", "F16"}) {
    put_tensors(file, theirs, dtype);
    const AdapterWeights weights(to_, hub_family("gpt2"));
    weights.check(ours);
    for (const bool addressable : {true, false}) {
      const std::vector<float> b =
          read(weights, {"blocks.1.feed_forward.in.lora_b", {16, 2}}, addressable);
      for (int64_t i = 0; i < 32; ++i) EXPECT_EQ(b[static_cast<size_t>(i)], number_at(3, i));
    }
  }
}

// transformers 5 has the experts of a layer in two parameters, which peft wraps one in the other.
TEST_F(Adapters, OfExpertsAreInTheirPlaces) {
  const std::string mlp = "base_model.model.model.layers.1.mlp.";
  put_tensors(here_ / "adapter_model.safetensors",
              {{mlp + "gate.lora_A.weight", {2, 4}},
               {mlp + "gate.lora_B.weight", {3, 2}},
               {mlp + "experts.base_layer.lora_A.weight", {6, 4}},
               {mlp + "experts.base_layer.lora_B.weight", {10, 6}},
               {mlp + "experts.lora_A.weight", {6, 5}},
               {mlp + "experts.lora_B.weight", {4, 6}}});
  const std::string ours = "blocks.1.experts.";
  const std::vector<HubTensor> network = {
      {ours + "router.lora_a", {2, 4}},     {ours + "router.lora_b", {3, 2}},
      {ours + "gate_up.lora_a", {3, 2, 4}}, {ours + "gate_up.lora_b", {3, 10, 2}},
      {ours + "out.lora_a", {3, 2, 5}},     {ours + "out.lora_b", {3, 4, 2}}};
  for (const char* family : {"mixtral", "qwen3_moe"}) {
    const AdapterWeights weights(here_ / ".", hub_family(family));
    weights.check(network);
    EXPECT_EQ(read(weights, network[2])[17], number_at(2, 17));
    const std::vector<float> b = read(weights, network[5]);
    for (int64_t e = 0; e < 3; ++e) {
      for (int64_t o = 0; o < 4; ++o) {
        for (int64_t r = 0; r < 2; ++r) {
          EXPECT_EQ(b[static_cast<size_t>((e * 4 + o) * 2 + r)], number_at(5, o * 6 + r * 3 + e));
        }
      }
    }
  }
  EXPECT_THAT(
      refusal(ErrorKind::Input,
              [&] { AdapterWeights(here_ / ".", hub_family("granitemoe")).check(network); }),
      AllOf(HasSubstr("granitemoe"), HasSubstr("--merge")));
}

TEST(AdapterConfigs, HaveRouterAndExpertsInTargetParameters) {
  const auto read = [](const std::string& members) {
    return parse_adapter_config(R"({"peft_type": "LORA", )" + members + "}", "a.json").targets;
  };
  const std::string both = R"(["gate_up_proj", "mlp.experts.down_proj"])";
  EXPECT_THAT(read(R"("target_modules": ["q_proj"], "target_parameters": )" + both),
              ElementsAre("query", "experts"));
  EXPECT_THAT(read(R"("target_modules": [], "target_parameters": ["mlp.gate.weight"])"),
              ElementsAre("router"));
  EXPECT_THAT(read(R"("target_modules": ["q_proj"], "target_parameters": [])"),
              ElementsAre("query"));
  const auto refused = [&](const std::string& members) {
    return refusal(ErrorKind::Input, [&] { (void)read(members); });
  };
  EXPECT_THAT(refused(R"("target_parameters": ["mlp.experts.down_proj"])"),
              AllOf(HasSubstr("a.json: \"target_parameters\""), HasSubstr("down_proj alone")));
  EXPECT_THAT(refused(R"("target_parameters": ["experts.bias"])"),
              AllOf(HasSubstr("\"experts.bias\""), HasSubstr("mlp.experts.gate_up_proj")));
  EXPECT_THAT(refused(R"("target_parameters": "gate_up_proj")"), HasSubstr("must be a list"));
  EXPECT_THAT(refused(R"("target_parameters": [3])"), HasSubstr("must be a list"));
  const std::vector<std::string> adapters = {"blocks.0.attention.query.lora_a",
                                             "blocks.0.experts.gate_up.lora_a",
                                             "blocks.0.experts.out.lora_b"};
  const auto written =
      nlohmann::json::parse(adapter_config_text({.rank = 2}, hub_family("mixtral"), adapters, ""));
  EXPECT_EQ(written["target_modules"], nlohmann::json::array({"q_proj"}));
  EXPECT_EQ(written["target_parameters"],
            nlohmann::json::array({"mlp.experts.down_proj", "mlp.experts.gate_up_proj"}));
}

TEST_F(Adapters, OfAnotherNetworkAreRefused) {
  std::filesystem::create_directories(to_);
  const std::string block = "base_model.model.transformer.h.0.mlp.c_fc.";
  const auto refused = [&](const std::vector<TheirTensor>& theirs, const std::string& dtype,
                           const HubTensor& asked) {
    put_tensors(to_ + "/adapter_model.safetensors", theirs, dtype);
    return refusal(ErrorKind::Input,
                   [&] { AdapterWeights(to_, hub_family("gpt2")).check(std::span(&asked, 1)); });
  };
  const HubTensor a = {"blocks.0.feed_forward.in.lora_a", {2, 4}};
  const TheirTensor their_a = {block + "lora_A.weight", {2, 4}};
  EXPECT_THAT(refused({{block + "lora_A.weight", {3, 4}}}, "F32", a),
              AllOf(HasSubstr("is [3, 4]"), HasSubstr("make it [2, 4]")));
  EXPECT_THAT(refused({their_a}, "F32", {"blocks.1.feed_forward.in.lora_a", {2, 4}}),
              AllOf(HasSubstr("no tensor \"base_model.model.transformer.h.1.mlp.c_fc.lora_A"),
                    HasSubstr("\"blocks.1.feed_forward.in\"")));
  EXPECT_THAT(refused({their_a, {block + "lora_B.weight", {16, 2}}}, "F32", a),
              AllOf(HasSubstr("no place"), HasSubstr("c_fc.lora_B.weight")));
  std::filesystem::remove(to_ + "/adapter_model.safetensors");
  put(to_ + "/adapter_model.bin", "");
  EXPECT_THAT(refusal(ErrorKind::Input, [&] { AdapterWeights(to_, hub_family("gpt2")); }),
              AllOf(HasSubstr("adapter_model.bin alone"), HasSubstr("save_pretrained")));
}

TEST_F(Adapters, AreExportedAndComeBack) {
  const std::vector<HubTensor> ours = gpt2_adapters({"attention.output", "feed_forward.out"});
  const ExportRequest asked = request(checkpoint(ours));
  const Exported done = export_adapter(asked);
  EXPECT_EQ(done.tensors, 8U);
  const LoraConfig lora = read_adapter_config(to_);
  EXPECT_EQ(lora.rank, kRank);
  EXPECT_EQ(lora.alpha, 6.0);
  EXPECT_THAT(lora.targets, ElementsAre("output", "down"));
  const auto document = nlohmann::json::parse(contents(to_ + "/adapter_config.json"));
  EXPECT_EQ(document["target_modules"], nlohmann::json::array({"c_proj"}));
  EXPECT_EQ(std::filesystem::canonical(document["base_model_name_or_path"].get<std::string>()),
            std::filesystem::canonical(base_));
  const AdapterWeights weights(to_, hub_family("gpt2"));
  weights.check(ours);
  for (size_t i = 0; i < ours.size(); ++i) {
    EXPECT_EQ(read(weights, ours[i]), floats_of(numbered(ours[i].shape, i))) << ours[i].name;
  }
  EXPECT_EQ(SafetensorsFile(to_ + "/adapter_model.safetensors").metadata().at("format"), "pt");
  EXPECT_THAT(refusal(ErrorKind::Input, [&] { (void)export_adapter(asked); }),
              HasSubstr("is there already"));
}

// What is trained for a chat is used with the tokenizer and the template that it was trained with.
TEST_F(Adapters, AreExportedWithTheTokenizerAndTheNameOfTheirNetwork) {
  ExportRequest asked = request(checkpoint(gpt2_adapters({"feed_forward.in"})));
  put(asked.folder + "/tokenizer.json", "{}");
  put(asked.folder + "/chat_template.jinja", "{{ messages }}");
  asked.base = "org/network";
  (void)export_adapter(asked);
  const auto document = nlohmann::json::parse(contents(to_ + "/adapter_config.json"));
  EXPECT_EQ(document["base_model_name_or_path"], "org/network");
  EXPECT_EQ(contents(to_ + "/tokenizer.json"), "{}");
  EXPECT_EQ(contents(to_ + "/chat_template.jinja"), "{{ messages }}");
}

TEST_F(Adapters, AveragedWhereTheRunHasAverages) {
  const std::vector<HubTensor> ours = gpt2_adapters({"feed_forward.in"});
  ExportRequest asked = request(checkpoint(ours, true));
  asked.dtype = "bf16";
  (void)export_adapter(asked);
  const AdapterWeights weights(to_, hub_family("gpt2"));
  EXPECT_EQ(read(weights, ours[2]), floats_of(numbered(ours[2].shape, 2)));
}

TEST_F(Adapters, OfAFusedMatrixAreNoFolderOfPefts) {
  const ExportRequest asked = request(checkpoint(gpt2_adapters({"attention.query"})));
  EXPECT_THAT(refusal(ErrorKind::Input, [&] { (void)export_adapter(asked); }),
              HasSubstr("--merge"));
  EXPECT_FALSE(std::filesystem::exists(here_ / "out"));
}

// An element of the merged matrix [rows, columns] in a checkpoint with the adapters number `first`
// and `first` + 1.
float merged_at(float weight, size_t first, int64_t row, int64_t column, int64_t columns) {
  float sum = 0.0F;
  for (int64_t r = 0; r < kRank; ++r) {
    sum += number_at(first + 1, row * kRank + r) * number_at(first, r * columns + column);
  }
  return weight + 3.0F * sum;  // alpha / rank
}

TEST_F(Adapters, BecomePartOfTheWeights) {
  const std::vector<HubTensor> ours = gpt2_adapters({"attention.key", "feed_forward.out"});
  ASSERT_EQ(ours[4].name, "blocks.1.attention.key.lora_a");
  struct Form {
    bool averages;
    DType matrices;
  };
  for (const auto& [averages, matrices] :
       {Form{false, DType::F32}, Form{true, DType::F32}, Form{false, DType::BF16}}) {
    std::filesystem::remove_all(here_ / "run/checkpoints");
    std::filesystem::remove_all(to_);
    (void)export_folder(request(checkpoint(ours, averages, matrices)));
    HubWeights before(base_, hub_family("gpt2"), 2);
    HubWeights after(to_, hub_family("gpt2"), 2);
    after.check(gpt2_network(), true);
    for (const HubTensor& tensor : gpt2_network()) {
      Tensor was = numbered(tensor.shape, 0);
      Tensor is = numbered(tensor.shape, 0);
      before.read(tensor.name, was, device_);
      after.read(tensor.name, is, device_);
      std::vector<float> expected = floats_of(was);
      for (size_t i = 0; i < ours.size(); i += 2) {
        if (tensor.name + "!" != replaced(ours[i].name + "!", ".lora_a!", ".weight!")) continue;
        const int64_t columns = tensor.shape[1];
        for (int64_t at = 0; at < was.elements(); ++at) {
          float& weight = expected[static_cast<size_t>(at)];
          weight = merged_at(weight, i, at / columns, at % columns, columns);
        }
      }
      EXPECT_EQ(floats_of(is), expected) << tensor.name;
    }
  }
}

}  // namespace
}  // namespace penstock
