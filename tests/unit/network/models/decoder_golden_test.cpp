// Decoders beside transformers: what tests/python/decoder_test.py wrote of each family, whose
// logits, gradients and weights after some steps of AdamW are PyTorch's in fp32. The files lie in
// goldens/, or where PENSTOCK_GOLDENS says.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>

#include "launch/program/options/run_file.h"
#include "runtime/network/models/models.h"
#include "runtime/network/optimizer/optimizer.h"
#include "runtime/records/checkpoint/format/safetensors.h"
#include "tests/support/trained.h"

namespace penstock {
namespace {

constexpr double kLogits = 1e-5;  // of logits, before anything is added up over steps
constexpr double kRelative = 1e-4;
// Below that all of a tensor is rounding: a bias of keys moves no probability.
constexpr double kNothing = 1e-3;

std::vector<std::string> golden_files() {
  const char* elsewhere = std::getenv("PENSTOCK_GOLDENS");
  std::vector<std::string> files;
  for (const auto& entry :
       std::filesystem::directory_iterator(elsewhere != nullptr ? elsewhere : PENSTOCK_GOLDENS)) {
    files.push_back(entry.path().string());
  }
  std::ranges::sort(files);
  return files;
}

// One golden, and the network that it describes as one stage.
class Peer {
 public:
  explicit Peer(const std::string& path) : file_(path) {
    parse_run_file(file_.metadata().at("run"), path, settings_);
    model_ = build_model(settings_.config.model, 0, 0);
    stage_.emplace(model_.layers, RecomputeMode::None, 1, DType::F32, *device_,
                   StagePlace{.first = true});
    stage_->allocate(0);
    for (StateEntry* entry : stage_->weights().state()) {
      file_.read("weights/" + entry->name, entry->value, *device_);
      entry->changed();
    }
    tokens_ = integers("tokens");
    fields_ = {integers("labels")};
    int64_t targets = 0;
    for (const int32_t label : fields_[0].span<const int32_t>()) targets += label >= 0 ? 1 : 0;
    batch_ = {.pass = {.step = 1, .loss_scale = 1.0F / static_cast<float>(targets)},
              .field_names = &names_,
              .fields = &fields_};
  }

  std::vector<float> logits() {
    std::vector<float> found;
    const std::function<void(int, const Tensor&)> keep = [&](int, const Tensor& all) {
      const std::span<const float> values = all.span<const float>();
      found.assign(values.begin(), values.end());
    };
    MicroBatch batch = batch_;
    batch.pass.training = false;
    batch.pass.logits = &keep;
    (void)stage_->forward(batch, {tokens_}, false);
    return found;
  }
  void differentiate() {
    stage_->begin_step();
    (void)stage_->forward(batch_, {tokens_}, true);
    (void)stage_->backward(batch_, {});
    // What the pipeline does where several layers hold a parameter.
    for (StateEntry* entry : parameters()) {
      const std::span<float> sum = entry->gradient.span<float>();
      for (size_t h = 1; h < entry->holders.size(); ++h) {
        const std::span<const float> more = entry->holders[h]->gradient.span<const float>();
        for (size_t i = 0; i < sum.size(); ++i) sum[i] += more[i];
      }
    }
  }
  void train() {
    const auto optimizer = make_optimizer(settings_.config.optimizer);
    optimizer->allocate(stage_->weights().state(), *device_);
    for (int i = 0; i < std::stoi(file_.metadata().at("steps")); ++i) {
      differentiate();
      optimizer->step(settings_.config.optimizer.learning_rate, 1.0);
      stage_->end_step(1);
    }
  }
  // The largest error relative to the largest number of the golden's tensor.
  void expect_close(const std::string& name, std::span<const float> found,
                    double within = kRelative) {
    const TensorInfo* info = file_.find(name);
    ASSERT_NE(info, nullptr) << name;
    std::vector<float> expected(info->size_bytes() / sizeof(float));
    ASSERT_EQ(expected.size(), found.size()) << name;
    file_.read(name, std::as_writable_bytes(std::span(expected)));
    double largest = kNothing;
    double error = 0.0;
    for (size_t i = 0; i < found.size(); ++i) {
      largest = std::max(largest, std::abs(double{expected[i]}));
      error = std::max(error, std::abs(double{expected[i]} - double{found[i]}));
    }
    EXPECT_LE(error, within * largest) << name;
  }
  [[nodiscard]] const SafetensorsFile& file() const { return file_; }
  std::vector<StateEntry*> parameters() { return with_gradients(*stage_); }
  std::vector<StateEntry*> buffers() {
    std::vector<StateEntry*> found;
    for (StateEntry* entry : stage_->weights().state()) {
      if (!entry->is_parameter()) found.push_back(entry);
    }
    return found;
  }

 private:
  Tensor integers(const std::string& name) {
    const TensorInfo* info = file_.find(name);
    Tensor all = device_->empty({info->shape[0], info->shape[1]}, DType::I32, Purpose::Activations);
    file_.read(name, all, *device_);
    return all;
  }

  SafetensorsFile file_;
  Settings settings_;
  std::unique_ptr<Device> device_ = make_cpu_device(1);
  Sequential model_;
  std::optional<Stage> stage_;
  Tensor tokens_;
  std::vector<std::string> names_ = {"labels"};
  std::vector<Tensor> fields_;
  MicroBatch batch_;
};

class DecoderGoldens : public testing::TestWithParam<std::string> {};

TEST_P(DecoderGoldens, AreWhatPyTorchComputes) {
  Peer peer(GetParam());
  peer.expect_close("logits", peer.logits(), kLogits);
  peer.differentiate();
  size_t tensors = 3;  // tokens, labels, logits
  for (const StateEntry* entry : peer.parameters()) {
    peer.expect_close("gradients/" + entry->name, entry->gradient.span<const float>());
    tensors += 3;
  }
  tensors += 2 * peer.buffers().size();
  EXPECT_EQ(peer.file().tensors().size(), tensors) << "a tensor of the golden is not compared";
  peer.train();
  for (const StateEntry* entry : peer.parameters()) {
    peer.expect_close("after/" + entry->name, entry->value.span<const float>());
  }
  for (const StateEntry* entry : peer.buffers()) {
    peer.expect_close("after/" + entry->name, entry->value.span<const float>());
  }
}

INSTANTIATE_TEST_SUITE_P(Families, DecoderGoldens, testing::ValuesIn(golden_files()),
                         [](const auto& file) {
                           return std::filesystem::path(file.param).stem().string();
                         });

}  // namespace
}  // namespace penstock
