// logits CHECKPOINT: what a language model computes from a checkpoint, as JSON for
// checkpoint_test.py: {tokens [b, t], logits [b x t, classes], ends: {tensor: [first, last]}}.
// One stage, one micro-batch of made-up tokens, no MPI.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "launch/program/options/run_file.h"
#include "runtime/network/models/models.h"
#include "runtime/network/stage/stage.h"
#include "runtime/records/checkpoint/reader.h"

namespace penstock {
namespace {

constexpr int64_t kRows = 2;

nlohmann::json compute(const std::string& checkpoint) {
  CheckpointReader reader(checkpoint);
  Settings settings;
  parse_run_file(reader.state().configuration, "run.toml", settings);
  const ModelConfig& config = settings.config.model;
  const Sequential model = built_in_models().build(config, config.vocabulary, 0);
  const auto device = make_cpu_device(1);
  Stage stage(model.layers, RecomputeMode::None, 1, DType::F32, *device);
  stage.allocate(0);

  nlohmann::json answer;
  for (StateEntry* entry : stage.weights().state()) {
    reader.read(entry->name, entry->value, *device);
    entry->changed();
    const std::span<const float> values = entry->value.span<const float>();
    answer["ends"][entry->name] = {values.front(), values.back()};
  }

  Tensor tokens = device->empty({kRows, config.context}, DType::I32, Purpose::Activations);
  for (int64_t i = 0; i < tokens.elements(); ++i) {
    tokens.data<int32_t>()[i] = static_cast<int32_t>((i * i * 7 + i) % config.vocabulary);
  }
  const std::vector<std::string> names = {"labels"};
  const std::vector<Tensor> labels = {tokens};
  std::vector<float> logits;
  const std::function<void(int, const Tensor&)> keep = [&](int, const Tensor& all) {
    const std::span<const float> values = all.span<const float>();
    logits.assign(values.begin(), values.end());
  };
  MicroBatch batch;
  batch.pass.training = false;
  batch.pass.logits = &keep;
  batch.field_names = &names;
  batch.fields = &labels;
  (void)stage.forward(batch, {tokens}, false);

  const auto ids = tokens.span<const int32_t>();
  for (int64_t row = 0; row < kRows; ++row) {
    const auto first = ids.begin() + row * config.context;
    answer["tokens"].push_back(std::vector<int32_t>(first, first + config.context));
  }
  for (auto at = logits.begin(); at != logits.end(); at += config.vocabulary) {
    answer["logits"].push_back(std::vector<float>(at, at + config.vocabulary));
  }
  return answer;
}

}  // namespace
}  // namespace penstock

int main(int argc, char** argv) {
  if (argc != 2) {
    fmt::print(stderr, "usage: logits CHECKPOINT\n");
    return 2;
  }
  try {
    fmt::print("{}\n", penstock::compute(argv[1]).dump());
    return 0;
  } catch (const std::exception& error) {
    fmt::print(stderr, "logits: error: {}\n", error.what());
    return 1;
  }
}
