#include "runtime/engine/pipeline/links/narrow_links.h"

#include "kernels/ops.h"

namespace penstock {
namespace {

std::vector<TensorSpec> narrowed(std::span<const TensorSpec> specs) {
  std::vector<TensorSpec> narrow(specs.begin(), specs.end());
  for (TensorSpec& spec : narrow) {
    if (spec.dtype == DType::F32) spec.dtype = DType::BF16;
  }
  return narrow;
}

// Returns a copy of the tensor in the type `dtype`.
Tensor converted(const Tensor& tensor, DType dtype, Device& device) {
  Tensor copy = device.empty(tensor.shape(), dtype, Purpose::Activations);
  device.pointwise().copy(copy, tensor);
  return copy;
}

}  // namespace

void NarrowSendLink::send(std::span<const Tensor> message) {
  for (const Tensor& tensor : message) {
    const bool wide = tensor.dtype() == DType::F32;
    narrow_.push_back(wide ? converted(tensor, DType::BF16, device_) : tensor);
  }
  link_.send(narrow_);
  narrow_.clear();
}

void NarrowSendLink::reserve(std::span<const TensorSpec> message, int count) {
  link_.reserve(narrowed(message), count);
}

void NarrowReceiveLink::expect(std::span<const TensorSpec> specs) {
  expected_.emplace_back(specs.begin(), specs.end());
  link_.expect(narrowed(specs));
}

void NarrowReceiveLink::receive(std::span<Tensor> message) {
  link_.receive(message);
  const std::vector<TensorSpec>& specs = expected_.front();
  for (size_t i = 0; i < message.size(); ++i) {
    if (specs[i].dtype != message[i].dtype()) {
      message[i] = converted(message[i], specs[i].dtype, device_);
    }
  }
  expected_.pop_front();
}

}  // namespace penstock
