#include "bench/gpu/workload.h"

#include <string>

#include "bench/gpu/one_stage.h"
#include "kernels/ops/dense.h"

namespace penstock::gpu_bench {
namespace {

using Json = nlohmann::json;

class Product final : public Workload {
 public:
  Product(const Json& request, Device& device)
      : device_(device),
        size_(request.at("size").get<int64_t>()),
        x_(noise({size_, size_}, dtype_of(request), 1.0F, "x", device)),
        y_(device.empty({size_, size_}, dtype_of(request), Purpose::Activations)),
        w_(noise({size_, size_}, DType::F32, 1.0F, "w", device)) {}

  void iterate(DeviceClock& clock, size_t first_point) override {
    clock.mark(first_point);
    device_.dense().linear_forward(y_, x_, w_, nullptr, Fused::None);
    clock.mark(first_point + 1);
  }
  [[nodiscard]] double flops() const override {
    const auto n = static_cast<double>(size_);
    return 2.0 * n * n * n;
  }
  [[nodiscard]] int64_t parameters() override { return size_ * size_; }

 private:
  Device& device_;
  int64_t size_;
  Tensor x_, y_;
  Weight w_;
};

}  // namespace

std::unique_ptr<Workload> make_workload(const Json& request, Device& device) {
  const std::string what = request.at("what").get<std::string>();
  if (what == "matmul") return std::make_unique<Product>(request, device);
  if (what == "blocks") return make_blocks(request, device);
  if (auto step = make_step(request, device)) return step;
  fail_input("gpu_bench knows matmul, blocks, lm, resnet and amoebanet, not " + what);
}

}  // namespace penstock::gpu_bench
