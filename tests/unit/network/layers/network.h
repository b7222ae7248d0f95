// tests/unit/network/layers/network.h -- SmallNetwork: a few layers on a CPU device, as a Stage,
// which owns their parameters and runs them.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "kernels/philox.h"
#include "runtime/network/stage/stage.h"
#include "tests/unit/network/numbers.h"

namespace penstock {

// The layers as a list.
template <class... L>
[[nodiscard]] Layers layers_of(std::unique_ptr<L>... layers) {
  Layers all;
  (all.push_back(std::move(layers)), ...);
  return all;
}

// The message of the Error that `action` throws; "nothing was thrown" where it throws none.
[[nodiscard]] inline std::string message_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.what();
  }
  return "nothing was thrown";
}

inline void expect_near(const Tensor& actual, const Numbers& expected, double tolerance) {
  const Numbers got = numbers_of(actual);
  ASSERT_EQ(got.size(), expected.size());
  for (size_t i = 0; i < got.size(); ++i) {
    ASSERT_TRUE(std::fabs(got[i] - expected[i]) <= tolerance)
        << "element " << i << " is " << got[i] << ", not " << expected[i];
  }
}

class SmallNetwork {
 public:
  explicit SmallNetwork(Layers layers, int micro_batches = 1,
                        RecomputeMode mode = RecomputeMode::None,
                        const std::vector<std::string>& freeze = {})
      : device_(make_cpu_device(1)),
        layers_(std::move(layers)),
        stage_(layers_, mode, micro_batches, DType::F32, *device_, {.freeze = freeze}) {
    stage_.allocate(kSeed);
    // Biases and gains start at 0 and 1, which hides a forgotten one.
    for (Parameter& p : stage_.weights().set().declared().parameters) {
      if (p.init.kind == Initializer::Kind::Normal) continue;
      const Tensor noise = random(p.shape, hash_name(p.name));
      Tensor value = p.weight.value();
      device_->pointwise().accumulate(value, noise);
      p.weight.changed();
    }
    stage_.begin_step();
  }

  [[nodiscard]] Device& device() { return *device_; }
  [[nodiscard]] Stage& stage() { return stage_; }
  [[nodiscard]] Layer& layer(size_t i) { return *layers_[i]; }
  [[nodiscard]] Tensor random(const Shape& shape, uint64_t seed) {
    const RandomStream stream = random_stream(seed, hash_name("layers"));
    Tensor t = device_->empty(shape, DType::F32, Purpose::Activations);
    auto values = t.span<float>();
    for (size_t i = 0; i < values.size(); ++i) {
      values[i] = 2.0F * uniform_of(philox(stream, i / 4)[i % 4]) - 1.0F;
    }
    return t;
  }
  [[nodiscard]] Tensor integers(const Shape& shape, const std::vector<int32_t>& values) {
    Tensor t = device_->empty(shape, DType::I32, Purpose::Activations);
    std::copy(values.begin(), values.end(), t.data<int32_t>());
    return t;
  }
  [[nodiscard]] Numbers weight(const std::string& name) {
    for (Parameter& p : stage_.weights().set().declared().parameters) {
      if (p.name == name) return numbers_of(p.weight.value());
    }
    ADD_FAILURE() << "no parameter " << name;
    return {};
  }
  [[nodiscard]] Numbers buffer(const std::string& name) {
    for (Buffer& b : stage_.weights().set().declared().buffers) {
      if (b.name == name) return numbers_of(b.value);
    }
    ADD_FAILURE() << "no buffer " << name;
    return {};
  }
  // Sets the batch field "labels" of every micro-batch from now on.
  void set_labels(const Tensor& labels) { fields_ = {labels}; }

  [[nodiscard]] MicroBatch micro_batch(int index, bool training = true) const {
    return {.pass = {.training = training, .seed = kSeed, .step = 1},
            .index = index,
            .field_names = &names_,
            .fields = &fields_};
  }
  [[nodiscard]] Tensors evaluate(const Tensor& x) {
    return stage_.forward(micro_batch(0, false), {x}, false);
  }

  static constexpr uint64_t kSeed = 5;

 private:
  std::unique_ptr<Device> device_;
  Layers layers_;
  std::vector<std::string> names_ = {"labels"};
  std::vector<Tensor> fields_;
  Stage stage_;
};

}  // namespace penstock
