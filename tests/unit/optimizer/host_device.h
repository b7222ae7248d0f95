// tests/unit/optimizer/host_device.h -- a Device of plain loops with what optimizers and
// checkpoints use: memory, copies, fills and the update ops. Every other op throws.
#pragma once

#include <cmath>
#include <cstring>
#include <memory>
#include <string>

#include "kernels/ops.h"

namespace penstock {

class HostPointwise final : public PointwiseOps {
 public:
  void fill(Tensor& y, float value) override {
    for (float& element : y.span<float>()) element = value;
  }
  void copy(Tensor& y, const Tensor& x) override { std::memcpy(y.raw(), x.raw(), x.size_bytes()); }
  void activation_forward(Tensor&, const Tensor&, Activation) override { none(); }
  void activation_backward(Tensor&, const Tensor&, const Tensor&, Activation) override { none(); }
  void fused_backward(Tensor&, const Tensor&, const Tensor&, Fused) override { none(); }
  void add(Tensor&, const Tensor&, const Tensor&) override { none(); }
  void multiply(Tensor&, const Tensor&, const Tensor&) override { none(); }
  void accumulate(Tensor&, const Tensor&) override { none(); }
  void scale(Tensor&, const Tensor&, float) override { none(); }
  void add_broadcast(Tensor&, const Tensor&, const Tensor&) override { none(); }
  void add_broadcast_backward(Tensor&, const Tensor&) override { none(); }
  void dropout(Tensor&, const Tensor&, float, const RandomStream&) override { none(); }

 private:
  [[noreturn]] static void none() { fail_internal("HostPointwise has no such op"); }
};

class HostUpdate final : public UpdateOps {
 public:
  void sgd(Tensor& w, Tensor* velocity, const Tensor& g, const SgdStep& s) override {
    for (int64_t i = 0; i < w.elements(); ++i) {
      const float d = s.scale * at(g, i) + s.weight_decay * at(w, i);
      const float v = velocity != nullptr ? s.momentum * at(*velocity, i) + d : d;
      if (velocity != nullptr) at(*velocity, i) = v;
      at(w, i) -= s.learning_rate * (s.nesterov ? d + s.momentum * v : v);
    }
  }
  void rmsprop(Tensor& w, Tensor& square, Tensor* moment, const Tensor& g,
               const RmsPropStep& s) override {
    for (int64_t i = 0; i < w.elements(); ++i) {
      const float d = s.scale * at(g, i) + s.weight_decay * at(w, i);
      at(square, i) = s.decay * at(square, i) + (1.0F - s.decay) * d * d;
      const float change = s.learning_rate * d / std::sqrt(at(square, i) + s.epsilon);
      const float m = moment != nullptr ? s.momentum * at(*moment, i) + change : change;
      if (moment != nullptr) at(*moment, i) = m;
      at(w, i) -= m;
    }
  }
  void adam(Tensor& w, Tensor& first, Tensor& second, const Tensor& g, const AdamStep& s) override {
    const auto t = static_cast<double>(s.step);
    const auto bias1 = static_cast<float>(1.0 - std::pow(static_cast<double>(s.beta1), t));
    const auto bias2 = static_cast<float>(1.0 - std::pow(static_cast<double>(s.beta2), t));
    for (int64_t i = 0; i < w.elements(); ++i) {
      float d = s.scale * at(g, i);
      if (!s.decoupled) d += s.weight_decay * at(w, i);
      if (s.decoupled) at(w, i) -= s.learning_rate * s.weight_decay * at(w, i);
      at(first, i) = s.beta1 * at(first, i) + (1.0F - s.beta1) * d;
      at(second, i) = s.beta2 * at(second, i) + (1.0F - s.beta2) * d * d;
      at(w, i) -=
          s.learning_rate * (at(first, i) / bias1) / (std::sqrt(at(second, i) / bias2) + s.epsilon);
    }
  }
  void moving_average(Tensor& average, const Tensor& w, float decay) override {
    for (int64_t i = 0; i < w.elements(); ++i) {
      at(average, i) = decay * at(average, i) + (1.0F - decay) * at(w, i);
    }
  }
  void sum_of_squares(Tensor&, const Tensor&) override {
    fail_internal("HostUpdate has no sum_of_squares");
  }

 private:
  static float& at(const Tensor& tensor, int64_t i) { return tensor.data<float>()[i]; }
};

class HostDevice final : public Device {
 public:
  // An accelerator's memory, as far as callers can tell, when not addressable.
  explicit HostDevice(bool addressable = true)
      : addressable_(addressable), memory_(host_memory_source()) {}

  [[nodiscard]] std::string description() const override { return "plain loops"; }
  [[nodiscard]] bool native_bf16() const override { return false; }
  [[nodiscard]] bool host_addressable() const override { return addressable_; }
  void synchronize() override {}
  void copy_from_host(Tensor& to, const void* from, size_t size_bytes) override {
    std::memcpy(to.raw(), from, size_bytes);
    largest_copy_ = std::max(largest_copy_, size_bytes);
  }
  void copy_to_host(void* to, const Tensor& from, size_t size_bytes) override {
    std::memcpy(to, from.raw(), size_bytes);
    largest_copy_ = std::max(largest_copy_, size_bytes);
  }
  [[nodiscard]] int64_t primitives_created() const override { return 0; }
  [[nodiscard]] size_t largest_copy() const { return largest_copy_; }

  DenseOps& dense() override { none(); }
  ImageOps& image() override { none(); }
  NormOps& norm() override { none(); }
  PointwiseOps& pointwise() override { return pointwise_; }
  LayoutOps& layout() override { none(); }
  AttentionOps& attention() override { none(); }
  TokenOps& token() override { none(); }
  UpdateOps& update() override { return update_; }
  Memory& memory() override { return memory_; }

 private:
  [[noreturn]] static void none() { fail_internal("HostDevice has no such ops"); }

  bool addressable_;
  Memory memory_;
  HostPointwise pointwise_;
  HostUpdate update_;
  size_t largest_copy_ = 0;
};

}  // namespace penstock
