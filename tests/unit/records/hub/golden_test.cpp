// Folders that transformers wrote (tests/python/hub_test.py --goldens), of every family:
// config.json and weights give its logits; and with a folder of adapters peft's.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "runtime/network/models/adapter_names.h"
#include "runtime/network/models/models.h"
#include "runtime/network/stage/stage.h"
#include "runtime/records/hub/adapters/adapter_folder.h"
#include "runtime/records/hub/adapters/adapter_weights.h"
#include "tests/unit/records/hub/folders.h"

namespace penstock {
namespace {

class HubGoldens : public testing::TestWithParam<const char*> {};

std::string golden_folder(const std::string& name) {
  return std::string(PENSTOCK_HUB_GOLDENS) + "/" + name;
}

// What the folder's network makes of two rows, with the adapters of another folder where one is
// named.
std::vector<float> logits_of(const std::string& folder, const std::string& adapters,
                             const std::vector<int32_t>& ids) {
  HubConfig config = read_hub_config(folder);
  config.model.context = static_cast<int64_t>(ids.size()) / 2;
  if (!adapters.empty()) config.model.lora = read_adapter_config(adapters);
  const Sequential model = built_in_models().build(config.model, 0, 0);
  const auto device = make_cpu_device(1);
  Stage stage(model.layers, RecomputeMode::None, 1, DType::F32, *device);
  stage.allocate(0);
  HubWeights weights(folder, hub_family(config.family), config.model.heads);
  std::vector<HubTensor> network;
  std::vector<HubTensor> beside;
  for (StateEntry* entry : stage.weights().state()) {
    const auto extents = entry->value.shape().extents();
    const HubTensor tensor = {entry->name, {extents.begin(), extents.end()}};
    if (is_of_adapter(entry->name)) {
      AdapterWeights(adapters, hub_family(config.family)).read(entry->name, entry->value, *device);
      beside.push_back(tensor);
    } else {
      weights.read(entry->name, entry->value, *device);
      network.push_back(tensor);
    }
    entry->changed();
  }
  weights.check(network, config.model.tied_embedding);
  if (!adapters.empty()) AdapterWeights(adapters, hub_family(config.family)).check(beside);

  Tensor tokens = device->empty({2, config.model.context}, DType::I32, Purpose::Activations);
  std::copy(ids.begin(), ids.end(), tokens.data<int32_t>());
  const std::vector<std::string> names = {"labels"};
  const std::vector<Tensor> labels = {tokens};
  std::vector<float> logits;
  const std::function<void(int, const Tensor&)> keep = [&](int, const Tensor& all) {
    logits = floats_of(all);
  };
  MicroBatch batch;
  batch.pass.training = false;
  batch.pass.logits = &keep;
  batch.field_names = &names;
  batch.fields = &labels;
  (void)stage.forward(batch, {tokens}, false);
  return logits;
}

// `golden` has golden.json.
void expect_logits(const std::string& golden, const std::string& folder,
                   const std::string& adapters) {
  const nlohmann::json document = nlohmann::json::parse(contents(golden + "/golden.json"));
  std::vector<int32_t> ids;
  for (const auto& row : document.at("tokens")) {
    for (const auto& id : row) ids.push_back(id.get<int32_t>());
  }
  const auto expected = document.at("logits").get<std::vector<float>>();
  const std::vector<float> found = logits_of(folder, adapters, ids);
  ASSERT_EQ(found.size(), expected.size());
  float largest = 0.0F;
  for (const float logit : expected) largest = std::max(largest, std::abs(logit));
  for (size_t i = 0; i < found.size(); ++i) {
    ASSERT_NEAR(found[i], expected[i], 1e-5F * largest) << i;
  }
}

TEST_P(HubGoldens, GiveTheLogitsOfTransformers) {
  const std::string folder = golden_folder(GetParam());
  expect_logits(folder, folder, "");
}

// The adapters are of the network "qwen2" (tests/python/lora_test.py --goldens).
TEST(AdapterGoldens, GiveTheLogitsOfPeft) {
  const std::string adapters = golden_folder("qwen2-lora");
  expect_logits(adapters, golden_folder("qwen2"), adapters);
}

INSTANTIATE_TEST_SUITE_P(, HubGoldens,
                         testing::Values("gpt2", "llama-3", "llama-tied", "mistral", "qwen2",
                                         "qwen3", "qwen2-windows", "granite", "olmo2", "smollm3",
                                         "gemma", "gemma2", "gemma3", "llama-yarn", "olmo3",
                                         "ministral", "seed-oss", "exaone4", "starcoder2", "phi3",
                                         "glm4", "gpt-neox", "cohere", "cohere2", "mixtral",
                                         "olmoe", "qwen2-moe", "qwen3-moe", "granite-moe",
                                         "granite-moe-shared", "dots1", "glm4-moe", "gpt-oss",
                                         "deepseek"),
                         [](const auto& which) {
                           std::string name = which.param;
                           std::erase(name, '-');
                           return name;
                         });

}  // namespace
}  // namespace penstock
