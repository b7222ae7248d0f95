#include "kernels/device.h"

#include "kernels/ops/pointwise.h"

namespace penstock {
namespace {

// For devices that copy in the order of their ops.
class InOrder final : public UploadLane {
 public:
  explicit InOrder(Device& device) : device_(device) {}
  void start(size_t /*slot*/, std::span<Tensor> to, std::span<const Tensor> from) override {
    for (size_t i = 0; i < to.size(); ++i) device_.upload(to[i], from[i]);
  }
  void join(size_t /*slot*/) override {}

 private:
  Device& device_;
};

}  // namespace

std::unique_ptr<UploadLane> Device::make_upload_lane(size_t /*slots*/) {
  return std::make_unique<InOrder>(*this);
}

Tensor Device::zeros(const Shape& shape, DType dtype, Purpose purpose) {
  Tensor tensor = empty(shape, dtype, purpose);
  pointwise().fill(tensor, 0.0F);
  return tensor;
}

}  // namespace penstock
