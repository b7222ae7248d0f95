// Several samples in a row, of which each is as if it were alone: losses and gradients.
#include <algorithm>
#include <memory>

#include "runtime/network/stage/stage.h"
#include "tests/support/trained.h"
#include "tests/unit/network/models/configs.h"

namespace penstock {
namespace {

using Ids = std::vector<int32_t>;
constexpr int64_t kRow = 12;
const std::vector<Ids> kSamples = {{1, 2, 3, 4, 5}, {6, 7, 8}, {9, 2}};  // and two of padding

// The loss of rows of samples, summed, and its gradient in every parameter.
struct Answer {
  double loss = 0.0;
  std::map<std::string, std::vector<float>> gradients;
};

Answer answer_of(const ModelConfig& config, const std::vector<std::vector<Ids>>& rows) {
  const auto device = make_cpu_device(1);
  const Sequential model = build_model(config, 0, 0);
  Stage stage(model.layers, RecomputeMode::None, 1, DType::F32, *device, {.first = true});
  stage.allocate(3);
  Ids tokens, labels, starts;
  for (const std::vector<Ids>& samples : rows) {
    const auto row = static_cast<int32_t>(tokens.size());
    for (const Ids& sample : samples) {
      starts.insert(starts.end(), sample.size(), static_cast<int32_t>(tokens.size()) - row);
      tokens.insert(tokens.end(), sample.begin(), sample.end());
      for (const int32_t word : sample) labels.push_back((word * 3 + 1) % 11);
    }
    while (tokens.size() < static_cast<size_t>(row + kRow)) {
      starts.push_back(static_cast<int32_t>(tokens.size()) - row);
      tokens.push_back(0);
      labels.push_back(-1);
    }
  }
  const auto field = [&](const Ids& values) {
    Tensor tensor = device->empty({std::ssize(rows), kRow}, DType::I32, Purpose::Activations);
    std::ranges::copy(values, tensor.data<int32_t>());
    return tensor;
  };
  const std::vector<std::string> names = {"labels", "starts"};
  const std::vector<Tensor> fields = {field(labels), field(starts)};
  const MicroBatch batch{.pass = {.step = 1}, .field_names = &names, .fields = &fields};
  stage.begin_step();
  (void)stage.forward(batch, {field(tokens)}, true);
  (void)stage.backward(batch, {});
  Answer answer;
  answer.loss = stage.losses(0).loss.data<double>()[0];
  for (const StateEntry* entry : with_gradients(stage)) {
    const std::span<const float> values = entry->gradient.span<const float>();
    answer.gradients[entry->name].assign(values.begin(), values.end());
  }
  return answer;
}

class Packed : public testing::TestWithParam<const char*> {};

TEST_P(Packed, SamplesGiveTheLossAndTheGradientsThatTheyGiveAlone) {
  ModelConfig config = transformer_config();
  config.kind = "decoder";
  config.context = kRow;
  config.positions = GetParam();
  config.kv_heads = 1;
  config.packed = true;
  for (const int64_t window : {0, 3}) {
    config.window = window;
    const Answer together = answer_of(config, {kSamples});
    const Answer alone = answer_of(config, {{kSamples[0]}, {kSamples[1]}, {kSamples[2]}});
    EXPECT_NEAR(together.loss, alone.loss, 1e-5 * alone.loss);
    for (const auto& [name, expected] : alone.gradients) {
      float largest = 1e-3F;
      for (const float g : expected) largest = std::max(largest, std::abs(g));
      const std::vector<float>& found = together.gradients.at(name);
      for (size_t i = 0; i < found.size(); ++i) {
        EXPECT_NEAR(found[i], expected[i], 1e-5F * largest) << name << ' ' << i;
      }
    }
    // And it is the mask that does it: one long sample is another thing.
    Ids glued;
    for (const Ids& sample : kSamples) glued.insert(glued.end(), sample.begin(), sample.end());
    EXPECT_GT(std::abs(answer_of(config, {{glued}}).loss - alone.loss), 1e-3);
  }
}

INSTANTIATE_TEST_SUITE_P(Positions, Packed, testing::Values("rotary", "learned", "sinusoidal"),
                         [](const auto& positions) { return std::string(positions.param); });

}  // namespace
}  // namespace penstock
