// Folders that transformers wrote (tests/python/hub_test.py --goldens), of every family:
// config.json and weights give its logits.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "runtime/hub/kept_folder.h"
#include "runtime/models/models.h"
#include "runtime/stage/stage.h"
#include "tests/unit/hub/folders.h"

namespace penstock {
namespace {

class HubGoldens : public testing::TestWithParam<const char*> {};

std::vector<float> logits_of(const std::string& folder, const std::vector<int32_t>& ids) {
  HubConfig config = read_hub_config(folder);
  config.model.context = static_cast<int64_t>(ids.size()) / 2;
  const Sequential model = built_in_models().build(config.model, 0, 0);
  const auto device = make_cpu_device(1);
  Stage stage(model.layers, RecomputeMode::None, 1, DType::F32, *device);
  stage.allocate(0);
  HubWeights weights(folder, hub_family(config.family));
  std::vector<HubTensor> network;
  for (StateEntry* entry : stage.weights().state()) {
    const auto extents = entry->value.shape().extents();
    network.push_back({entry->name, {extents.begin(), extents.end()}});
    weights.read(entry->name, entry->value, *device);
    entry->changed();
  }
  weights.check(network, config.model.tied_embedding);

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

TEST_P(HubGoldens, GiveTheLogitsOfTransformers) {
  const std::string folder = std::string(PENSTOCK_HUB_GOLDENS) + "/" + GetParam();
  const nlohmann::json golden = nlohmann::json::parse(contents(folder + "/golden.json"));
  std::vector<int32_t> ids;
  for (const auto& row : golden.at("tokens")) {
    for (const auto& id : row) ids.push_back(id.get<int32_t>());
  }
  const auto expected = golden.at("logits").get<std::vector<float>>();
  const std::vector<float> found = logits_of(folder, ids);
  ASSERT_EQ(found.size(), expected.size());
  float largest = 0.0F;
  for (const float logit : expected) largest = std::max(largest, std::abs(logit));
  for (size_t i = 0; i < found.size(); ++i) {
    ASSERT_NEAR(found[i], expected[i], 1e-4F * largest) << i;
  }
}

INSTANTIATE_TEST_SUITE_P(, HubGoldens,
                         testing::Values("gpt2", "llama-3", "llama-tied", "mistral", "qwen2",
                                         "qwen3"),
                         [](const auto& which) {
                           std::string name = which.param;
                           std::erase(name, '-');
                           return name;
                         });

}  // namespace
}  // namespace penstock
