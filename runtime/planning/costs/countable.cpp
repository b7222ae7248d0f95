#include "runtime/planning/costs/countable.h"

#include <cmath>
#include <string>

#include "kernels/error.h"

namespace penstock {
namespace {

// Returns how many bytes a micro-batch takes in the layer. The sum is a floating-point number: it
// cannot wrap round, as a sum of integers can.
double bytes_of_micro_batch(const LayerCost& layer) {
  double bytes = 0.0;
  for (const int64_t part :
       {layer.input_bytes, layer.output_bytes, layer.tape_bytes, layer.shared_input_bytes,
        layer.weight_half_bytes, layer.forward_peak_bytes, layer.record_peak_bytes,
        layer.backward_peak_bytes, layer.backward_input_peak_bytes}) {
    bytes += static_cast<double>(part);
  }
  for (const DataField& field : layer.reads) bytes += static_cast<double>(field.bytes);
  return bytes;
}

double bytes_of_run(const LayerCost& layer) {
  double bytes = 0.0;
  for (const int64_t part : {layer.parameter_bytes, layer.gradient_bytes, layer.optimizer_bytes,
                             layer.workspace_bytes, layer.update_scratch_bytes}) {
    bytes += static_cast<double>(part);
  }
  return bytes;
}

}  // namespace

ModelCosts countable(ModelCosts costs, int64_t micro_batches) {
  const double most = std::ldexp(1.0, 60);  // 1 EiB: thrice as much still fits 64 bits
  double of_micro_batch = 0.0;
  double of_run = 0.0;
  for (const LayerCost& layer : costs.layers) {
    of_micro_batch += bytes_of_micro_batch(layer);
    of_run += bytes_of_run(layer);
  }
  for (const LayerSkip& skip : costs.skips) of_micro_batch += static_cast<double>(skip.bytes);
  if (of_run + of_micro_batch * static_cast<double>(micro_batches) <= most) return costs;
  fail_input("a step of " + std::to_string(micro_batches) + " micro-batches of " +
             std::to_string(costs.micro_batch_size) +
             " samples would hold more than 2^60 bytes, which no cluster has: make the sizes of "
             "the network ([model]), --micro-batch-size or --micro-batches smaller");
}

}  // namespace penstock
