#include "runtime/engine/training/divergence/spoilt_weights.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "kernels/ops/update.h"

namespace penstock {
namespace {

bool is_finite(const Tensor& tensor, Device& device) {
  if (!tensor || tensor.elements() == 0) return true;
  const int64_t blocks = squares_blocks(tensor.elements());
  Tensor squares = device.empty({blocks}, DType::F64, Purpose::Workspace);
  device.update().squares_by_block(squares, {&tensor, 1});
  std::vector<double> sums(static_cast<size_t>(blocks));
  device.copy_to_host(sums.data(), squares, squares.size_bytes());
  return std::ranges::all_of(sums, [](double sum) { return std::isfinite(sum); });
}

std::string first_here(StateRange state, Device& device) {
  for (const StateEntry* entry : state) {
    if (!entry->trained) continue;
    if (!is_finite(entry->own_part(entry->value), device)) return "'" + entry->name + "'";
    if (!is_finite(entry->average, device)) return "the average of '" + entry->name + "'";
  }
  return {};
}

}  // namespace

std::string find_spoilt_weights(Pipeline& pipeline, const Station& station) {
  const ActivityScope looking(station.network.activity_log(), {.activity = Activity::Diagnosis});
  pipeline.await_weights();
  Collective& world = station.network.world();
  std::string first;
  for (const std::string& name : world.gather_text(first_here(pipeline.state(), station.device))) {
    if (first.empty()) first = name;
  }
  return world.broadcast(first, 0);
}

}  // namespace penstock
