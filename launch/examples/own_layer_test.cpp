// launch/examples/own_layer_test.cpp -- a test of a layer of your own: as a stage on the CPU its
// gradients are those of central differences. The program ends with 0 where they are.
#include "own_layer.h"

#include <cmath>
#include <cstdio>
#include <exception>
#include <memory>

#include "runtime/network/stage/stage.h"

namespace {

using namespace penstock;  // NOLINT(google-build-using-namespace): a program, not a header

// Fills a tensor with numbers between -1 and 1 that follow from `seed`.
void draw(Tensor& t, uint64_t seed) {
  const RandomStream stream = random_stream(seed, hash_name("own layer"));
  for (size_t i = 0; i < static_cast<size_t>(t.elements()); ++i) {
    t.data<float>()[i] = 2.0F * uniform_of(philox(stream, i)[0]) - 1.0F;
  }
}

Tensor drawn(Device& device, const Shape& shape, uint64_t seed) {
  Tensor t = device.empty(shape, DType::F32, Purpose::Activations);
  draw(t, seed);
  return t;
}

// A layer as the only one of a stage, with an input and the gradient of its output.
class Trial {
 public:
  Trial(std::unique_ptr<Layer> layer, const Shape& input) {
    layers_.push_back(std::move(layer));
    stage_ = std::make_unique<Stage>(layers_, RecomputeMode::None, 1, DType::F32, *device_);
    stage_->allocate(1);
    for (StateEntry* entry : stage_->weights().state()) {
      draw(entry->value, hash_name(entry->name));
      entry->changed();
    }
    x_ = drawn(*device_, input, 2);
    g_ = drawn(*device_, layers_[0]->infer({input})[0], 3);
    stage_->begin_step();
  }

  // sum(g y): what backward() differentiates.
  double value() {
    MicroBatch evaluated;
    evaluated.pass.training = false;
    const Tensor y = stage_->forward(evaluated, {x_}, false)[0];
    double sum = 0.0;
    for (int64_t i = 0; i < y.elements(); ++i)
      sum += double{g_.data<float>()[i]} * y.data<float>()[i];
    return sum;
  }
  // Compares the gradient of the input and of each weight, element by element.
  bool has_true_gradients() {
    (void)stage_->forward({}, {x_}, true);
    const Tensor dx = stage_->backward({}, {g_})[0];
    bool all = is_slope("the input", x_, dx, [] {});
    for (StateEntry* entry : stage_->weights().state()) {
      all &= is_slope(entry->name, entry->value, entry->gradient, [entry] { entry->changed(); });
    }
    return all;
  }

 private:
  template <class Changed>
  bool is_slope(const std::string& name, Tensor& value, const Tensor& gradient, Changed changed) {
    constexpr float kStep = 1e-2F;
    for (int64_t i = 0; i < value.elements(); ++i) {
      float& element = value.data<float>()[i];
      const float here = element;
      const auto at = [&](float moved) {
        element = moved;
        changed();
        return this->value();
      };
      const double slope = (at(here + kStep) - at(here - kStep)) / (2.0 * double{kStep});
      (void)at(here);
      if (std::fabs(slope - gradient.data<float>()[i]) < 1e-3) continue;
      std::printf("%s: the gradient of element %d is %g, and the slope %g\n", name.c_str(),
                  static_cast<int>(i), double{gradient.data<float>()[i]}, slope);
      return false;
    }
    return true;
  }

  std::unique_ptr<Device> device_ = make_cpu_device(1);
  Layers layers_;
  std::unique_ptr<Stage> stage_;
  Tensor x_, g_;
};

}  // namespace

int main() {
  try {
    Trial trial(std::make_unique<Bottleneck>("units.0", 6, 4), {2, 3, 6});
    return trial.has_true_gradients() ? 0 : 1;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
