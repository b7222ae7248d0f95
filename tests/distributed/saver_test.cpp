// tests/distributed/saver_test.cpp -- what a run puts into a checkpoint: every tensor once,
// whatever ranks hold it.
#include "runtime/engine/training/checkpoints/saver.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <memory>
#include <set>

#include "runtime/engine/training/checkpoints/trained_weights.h"
#include "runtime/planning/blueprint/blueprint.h"
#include "runtime/records/checkpoint/reader.h"
#include "runtime/records/checkpoint/writer/checkpoint_writer.h"
#include "tests/distributed/main.h"

namespace penstock {
namespace {

// One table at three places, or batch norms with statistics; part of it frozen.
Config to_be_saved(const std::string& kind, const std::string& out) {
  Config config;
  config.model.kind = kind;
  config.model.layers = 2;
  config.model.width = 8;
  config.model.heads = 2;
  config.model.hidden = 12;
  config.model.context = 6;
  config.model.vocabulary = 15;
  config.model.tied_embedding = true;
  config.model.image = {3, 9, 9};
  config.model.depth = 8;
  config.model.classes = 4;
  config.optimizer.freeze = {kind == "resnet" ? "stem.*" : "*.bias"};
  config.pipeline.micro_batches = 3;
  config.pipeline.micro_batch_size = 5;
  config.run.out = out;
  config.run.seed = 77;
  return config;
}

class SavedRun : public testing::TestWithParam<std::tuple<const char*, bool>> {
 protected:
  void SetUp() override {
    root_ = std::filesystem::temp_directory_path() /
            network_of_all()->world().broadcast("saver-" + std::to_string(getpid()), 0);
    config_ = to_be_saved(std::get<0>(GetParam()), root_.string());
    (std::get<1>(GetParam()) ? config_.pipeline.replicas : config_.pipeline.stages) =
        session_.ranks();
    grid_ = {.positions = config_.pipeline.stages, .replicas = config_.pipeline.replicas};
    network_ = make_mpi_network(session_, grid_);
    blueprint_ = draw_up(config_, built_in_models(), 15, 4);
    pipeline_ = std::make_unique<Pipeline>(config_, blueprint_, grid_, *network_, *device_);
  }
  void TearDown() override {
    network_->world().barrier();
    std::error_code ignored;
    if (session_.rank() == 0) std::filesystem::remove_all(root_, ignored);
  }
  [[nodiscard]] std::unique_ptr<Network> network_of_all() const {
    return make_mpi_network(session_, {.positions = session_.ranks()});
  }
  // Adds states and averages as an optimizer does: to everything that this rank trains, tied or
  // not, and to its statistics.
  void give_states() {
    for (StateEntry* entry : pipeline_->state()) {
      if (entry->gradient) entry->states.push_back({"exp_avg", entry->own_part(entry->gradient)});
      if (!entry->is_parameter()) entry->average = entry->value;
    }
  }

  [[nodiscard]] CheckpointResult written(const CheckpointRequest& request) const {
    return CheckpointWriter(network_->world(), *device_).save(request);
  }

  const Session& session_ = test_session();
  std::filesystem::path root_;
  Config config_;
  Grid grid_;
  std::unique_ptr<Device> device_ = make_cpu_device(1);
  std::unique_ptr<Network> network_;
  Blueprint blueprint_;
  std::unique_ptr<Pipeline> pipeline_;
};

TEST_P(SavedRun, HasEveryTensorOnce) {
  const Station station{session_, *network_, grid_, *device_};
  Saver saver(config_, "the run file", "the run", *pipeline_, station);
  give_states();
  const CheckpointRequest request = saver.request(
      {.step = 40, .consumed_samples = 1234, .training_samples = 99, .optimizer_steps = 38});
  EXPECT_EQ(written(request).warning, "");
  std::set<std::string> model, optimizer;
  for (const NetworkTensor& tensor : blueprint_.layout.named) {
    model.insert(tensor.name);
    if (!tensor.parameter) optimizer.insert(tensor.name + ".average");
    if (tensor.parameter && !tensor.frozen) optimizer.insert(tensor.name + ".exp_avg");
  }
  CheckpointReader reader(root_.string() + "/checkpoints/step-00000040");
  const auto names = [](const std::vector<CheckpointReader::Stored>& stored) {
    std::set<std::string> all;
    for (const auto& one : stored) EXPECT_TRUE(all.insert(one.tensor.name).second);
    return all;
  };
  EXPECT_EQ(names(reader.model()), model);
  EXPECT_EQ(names(reader.optimizer()), optimizer);
  const int64_t mini_batch = int64_t{15} * grid_.replicas;
  std::vector<LayerRecord> layers;
  for (size_t i = 0; i < blueprint_.model.layers.size(); ++i) {
    const Layer& layer = *blueprint_.model.layers[i];
    layers.push_back({layer.name(), layer.kind(), blueprint_.layout.parameters[i]});
  }
  EXPECT_EQ(reader.state(), (CheckpointState{.step = 40,
                                             .seed = 77,
                                             .consumed_samples = 1234,
                                             .mini_batch = mini_batch,
                                             .version = PENSTOCK_VERSION,
                                             .configuration = "the run file",
                                             .run = "the run",
                                             .optimizer_steps = 38,
                                             .training_samples = 99,
                                             .layers = layers}));
}

TEST_P(SavedRun, ComesBackToTheBit) {
  const Station station{session_, *network_, grid_, *device_};
  Saver saver(config_, "", "", *pipeline_, station);
  std::vector<std::vector<float>> before;
  for (StateEntry* entry : pipeline_->state()) {
    const std::span<float> values = entry->value.span<float>();
    before.emplace_back(values.begin(), values.end());
    if (!entry->gradient) continue;
    device_->pointwise().fill(entry->gradient, 0.25F);
    entry->average = entry->own_part(entry->gradient);  // other than the weight
  }
  EXPECT_EQ(written(saver.request({.step = 1})).warning, "");
  for (StateEntry* entry : pipeline_->state()) device_->pointwise().fill(entry->value, -1.0F);
  load_weights(newest_checkpoint(config_.run.out), *pipeline_, *device_);
  for (size_t i = 0; i < before.size(); ++i) {
    const StateEntry& entry = *pipeline_->state()[i];
    const std::span<float> values = entry.value.span<float>();
    const std::vector<float> now(values.begin(), values.end());
    EXPECT_EQ(now, entry.gradient ? std::vector<float>(now.size(), 0.25F) : before[i])
        << entry.name << ": its average where it has one";
  }
}

INSTANTIATE_TEST_SUITE_P(Networks, SavedRun,
                         testing::Combine(testing::Values("transformer-nmt", "resnet"),
                                          testing::Bool()),
                         [](const auto& test) {
                           const std::string kind = std::get<0>(test.param);
                           return (kind == "resnet" ? kind : "translation") +
                                  (std::get<1>(test.param) ? "_replicas" : "_stages");
                         });

}  // namespace
}  // namespace penstock
