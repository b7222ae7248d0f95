// tests/unit/network/autograd/gradients.h -- what the tests of the tape share: a device with
// parameters, and a check that compares the gradients that the tape gives for any function with
// differences of its values.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <deque>
#include <functional>
#include <limits>
#include <memory>
#include <vector>

#include "kernels/philox.h"
#include "runtime/network/autograd/functions.h"

namespace penstock {

using Bits = std::vector<float>;

// The elements of an fp32 tensor; none for an empty tensor, a gradient that was never given.
[[nodiscard]] inline Bits bits_of(const Tensor& t) {
  if (!t) return {};
  const auto values = t.span<float>();
  return {values.begin(), values.end()};
}
// Compares by memcmp, so that NaN equals itself and +0 differs from -0.
[[nodiscard]] inline bool same_bits(const Bits& a, const Bits& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

class AutogradTest : public ::testing::Test {
 protected:
  [[nodiscard]] Device& device() { return *device_; }
  [[nodiscard]] Tensor tensor(const Shape& shape, const std::function<double(size_t)>& value) {
    Tensor t = device_->empty(shape, DType::F32, Purpose::Activations);
    auto values = t.span<float>();
    for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(value(i));
    return t;
  }
  // Uniform in [-1, 1), from the seed alone.
  [[nodiscard]] Tensor random(const Shape& shape, uint64_t seed) {
    const RandomStream stream = random_stream(seed, hash_name("autograd"));
    return tensor(shape,
                  [&](size_t i) { return 2.0 * uniform_of(philox(stream, i / 4)[i % 4]) - 1.0; });
  }
  // Unordered values at least 0.2 apart, none nearer to zero than 0.1, so that no central
  // difference below steps over the kink of a ReLU or changes the maximum of a window.
  [[nodiscard]] Tensor scattered(const Shape& shape) {
    const auto n = static_cast<size_t>(shape.elements());
    return tensor(shape, [&](size_t i) {
      return 0.2 * (static_cast<double>(i * 37 % n) - static_cast<double>(n / 2)) + 0.1;
    });
  }
  [[nodiscard]] Tensor integers(const Shape& shape, const std::vector<int32_t>& values) {
    Tensor t = device_->empty(shape, DType::I32, Purpose::Activations);
    std::copy(values.begin(), values.end(), t.data<int32_t>());
    return t;
  }
  Parameter& parameter(const Shape& shape, uint64_t seed) {
    Parameter& p = parameters_.emplace_back();
    p.shape = shape;
    p.weight = Weight(random(shape, seed));
    p.gradient = device_->zeros(shape, DType::F32, Purpose::Gradients);
    return p;
  }

  // ---- the check
  using Function = std::function<Variable(Tape&, const Variables&)>;
  // sum(upstream * f(inputs)) in double, f not recorded.
  [[nodiscard]] double loss(const Function& f, const std::vector<Tensor>& inputs,
                            const Tensor& upstream) {
    Tape tape(*device_);
    Variables x;
    for (const Tensor& input : inputs) x.push_back({input, -1});
    const Variable y = f(tape, x);
    EXPECT_TRUE(tape.empty());
    EXPECT_FALSE(y.tracked());
    double sum = 0.0;
    for (size_t i = 0; i < static_cast<size_t>(y.value.elements()); ++i) {
      sum += double{upstream.data<float>()[i]} * double{y.value.data<float>()[i]};
    }
    return sum;
  }

  enum class How : uint8_t { AtOnce, Halves, UpstreamGivenAway };
  // The gradients of all tracked inputs, then of all parameters (which start at kBefore, because
  // they are added to).
  [[nodiscard]] std::vector<Bits> gradients(const Function& f, const std::vector<Tensor>& inputs,
                                            const Tensor& upstream, How how,
                                            int untracked_input = -1) {
    Tape tape(*device_);
    tape.set_recording(true);
    Variables x;
    for (int i = 0; i < static_cast<int>(inputs.size()); ++i) {
      const Tensor& input = inputs[static_cast<size_t>(i)];
      x.push_back(i == untracked_input ? Variable{input, -1} : tape.output(input, true));
    }
    for (Parameter& p : parameters_) device_->pointwise().fill(p.gradient, kBefore);
    const Variable y = f(tape, x);
    tape.set_recording(false);
    std::vector<Bits> all;
    if (!y.tracked()) return all;
    Tensor g = upstream;
    if (how == How::UpstreamGivenAway) {
      g = device_->empty(upstream.shape(), DType::F32, Purpose::Activations);
      device_->pointwise().copy(g, upstream);
    }
    tape.give_gradient(y.slot, std::move(g));
    how == How::Halves ? tape.backward(Halves::Input) : tape.backward(Halves::Both);
    for (const Variable& variable : x) {
      if (variable.tracked()) all.push_back(bits_of(tape.take_gradient(variable.slot)));
    }
    if (how == How::Halves) tape.backward(Halves::Weight);
    EXPECT_TRUE(tape.empty());
    for (Parameter& p : parameters_) all.push_back(bits_of(p.gradient));
    return all;
  }

  // Expects of the gradients of f at `inputs` that they agree with central differences, that both
  // halves of the backward apart and a gradient that may be overwritten give the same bits, and
  // that leaving out one input changes no other.
  void expect_gradients(const Function& f, const std::vector<Tensor>& inputs) {
    const Shape shape = [&] {
      Tape tape(*device_);
      Variables x;
      for (const Tensor& input : inputs) x.push_back({input, -1});
      return f(tape, x).shape();
    }();
    const Tensor upstream = random(shape, 99);
    const Bits untouched = bits_of(upstream);
    const auto at_once = gradients(f, inputs, upstream, How::AtOnce);
    ASSERT_EQ(at_once.size(), inputs.size() + parameters_.size());
    EXPECT_TRUE(same_bits(bits_of(upstream), untouched)) << "a shared gradient was overwritten";
    for (How how : {How::Halves, How::UpstreamGivenAway}) {
      const auto other = gradients(f, inputs, upstream, how);
      for (size_t i = 0; i < at_once.size(); ++i) EXPECT_TRUE(same_bits(at_once[i], other.at(i)));
    }
    for (size_t left_out = 0; left_out < inputs.size(); ++left_out) {
      auto rest = at_once;
      rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(left_out));
      const auto other = gradients(f, inputs, upstream, How::AtOnce, static_cast<int>(left_out));
      ASSERT_EQ(other.size(), rest.size());
      for (size_t i = 0; i < rest.size(); ++i) EXPECT_TRUE(same_bits(rest[i], other[i]));
    }
    const auto value = [&] { return loss(f, inputs, upstream); };
    for (size_t i = 0; i < inputs.size(); ++i) {
      EXPECT_LE(difference_error(at_once[i], 0.0, inputs[i], nullptr, value), kTolerance)
          << "input " << i;
    }
    for (size_t i = 0; i < parameters_.size(); ++i) {
      Weight& weight = parameters_[i].weight;
      EXPECT_LE(
          difference_error(at_once[inputs.size() + i], kBefore, weight.value(), &weight, value),
          kTolerance)
          << "parameter " << i;
    }
  }

  // The largest error of `gradient` - before against central differences of `loss` in the elements
  // of x, over the largest difference; infinite where anything is not finite. With steps h and 2h
  // extrapolated the truncation is of order h^4 = 2e-7, and the rounding of fp32 values around 1 is
  // 1e-7 / h = 5e-6 an element: both well under kTolerance, as a wrong gradient is not.
  [[nodiscard]] static double difference_error(const Bits& gradient, double before, const Tensor& x,
                                               Weight* weight,
                                               const std::function<double()>& loss) {
    double worst = 0.0;
    double largest = 1e-3;
    for (size_t i = 0; i < gradient.size(); ++i) {
      float& element = x.data<float>()[i];
      const float here = element;
      const auto slope = [&](double h) {
        const auto at = [&](double value) {
          element = static_cast<float>(value);
          if (weight != nullptr) weight->changed();
          return loss();
        };
        const double above = at(here + h);
        const double end = element;
        const double below = at(here - h);
        return (above - below) / (end - double{element});
      };
      const double expected = (4.0 * slope(kStep) - slope(2.0 * kStep)) / 3.0;
      element = here;
      if (weight != nullptr) weight->changed();
      const double error = std::fabs(double{gradient[i]} - before - expected);
      if (!std::isfinite(error)) return std::numeric_limits<double>::infinity();
      worst = std::max(worst, error);
      largest = std::max(largest, std::fabs(expected));
    }
    return worst / largest;
  }

  static constexpr double kStep = 0.02;
  static constexpr double kTolerance = 1e-3;
  static constexpr float kBefore = 0.5F;
  std::unique_ptr<Device> device_ = make_cpu_device(1);
  std::deque<Parameter> parameters_;
};

}  // namespace penstock
