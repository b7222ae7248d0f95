#include <string>
#include <vector>

#include "bench/gpu/one_stage.h"
#include "bench/gpu/workload.h"
#include "runtime/network/models/models.h"

namespace penstock::gpu_bench {
namespace {

using Json = nlohmann::json;

ModelConfig blocks_config(const Json& request) {
  ModelConfig config;
  config.layers = request.at("blocks").get<int64_t>();
  config.width = request.at("width").get<int64_t>();
  config.heads = request.at("heads").get<int64_t>();
  config.context = request.at("sequence").get<int64_t>();
  config.activation = "gelu-tanh";
  config.dropout = request.value("dropout", 0.0);
  config.kv_heads = request.value("kv_heads", int64_t{0});
  config.packed = request.contains("packed");
  // The blocks are the same, but a decoder is cut between their halves, too.
  if (config.kv_heads > 0 || config.packed) config.kind = "decoder";
  return config;
}

class Blocks final : public Workload {
 public:
  Blocks(const Json& request, Device& device)
      : device_(device),
        config_(blocks_config(request)),
        batch_(request.at("batch").get<int64_t>()),
        model_(build_model(config_, 64, 0)),
        // The stage has the blocks alone, without the embedding before them and the norm and
        // classifier after.
        stage_(std::span(model_.layers)
                   .subspan(1, static_cast<size_t>(config_.layers) *
                                   (config_.kind == "decoder" ? 2 : 1)),
               dtype_of(request), {}, device),
        input_(noise(shape(), dtype_of(request), 1.7F, "x", device)),  // of variance 1
        gradient_(noise(shape(), dtype_of(request), 1.0F, "g", device)) {
    const auto t = static_cast<double>(config_.context);
    seen_ = static_cast<double>(batch_) * t * t / 2.0;
    if (config_.packed) pack(request.at("packed").get<std::vector<std::vector<int64_t>>>());
  }

  void iterate(DeviceClock& clock, size_t first_point) override {
    device_.memory().order_cache();
    // A stage may overwrite what is handed to it.
    Tensors x, g;
    x.push_back(copy_of(input_, device_));
    g.push_back(copy_of(gradient_, device_));
    clock.mark(first_point);
    stage_.forward_backward(0, std::move(x), std::move(g));
    clock.mark(first_point + 1);
  }
  // Forward, of each block: per token 10 w^2 weights and those of keys and values, at 2 FLOPs each;
  // per pair of positions that see one another 2 w for queries by keys and 2 w for probabilities by
  // values.
  [[nodiscard]] double flops() const override {
    const auto w = static_cast<double>(config_.width);
    const double tokens = static_cast<double>(batch_) * static_cast<double>(config_.context);
    const double share = config_.kv_heads > 0 ? static_cast<double>(config_.kv_heads) /
                                                    static_cast<double>(config_.heads)
                                              : 1.0;
    const double weights = (10.0 + 2.0 * share) * w * w;
    return 3.0 * static_cast<double>(config_.layers) * (2.0 * tokens * weights + 4.0 * w * seen_);
  }
  [[nodiscard]] int64_t parameters() override { return stage_.parameters(); }

 private:
  [[nodiscard]] Shape shape() const { return {batch_, config_.context, config_.width}; }
  void pack(const std::vector<std::vector<int64_t>>& rows) {
    std::vector<int32_t> starts;
    seen_ = 0.0;
    for (const std::vector<int64_t>& row : rows) {
      int64_t first = 0;
      for (const int64_t length : row) {
        starts.insert(starts.end(), static_cast<size_t>(length), static_cast<int32_t>(first));
        first += length;
        seen_ += static_cast<double>(length) * static_cast<double>(length) / 2.0;
      }
      if (first != config_.context) fail_input("\"packed\": the samples do not fill their row");
    }
    if (static_cast<int64_t>(rows.size()) != batch_) fail_input("\"packed\" is not of every row");
    stage_.set_field("starts", on_device({batch_, config_.context}, starts, device_));
  }

  Device& device_;
  ModelConfig config_;
  int64_t batch_;
  Sequential model_;
  OneStage stage_;
  Tensor input_, gradient_;
  double seen_ = 0.0;  // pairs of positions, with half of each sample's square
};

}  // namespace

std::unique_ptr<Workload> make_blocks(const Json& request, Device& device) {
  return std::make_unique<Blocks>(request, device);
}

}  // namespace penstock::gpu_bench
