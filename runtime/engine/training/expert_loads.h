// runtime/engine/training/expert_loads.h -- ExpertLoads: brings the rows that the experts of all
// mixtures had in a step, which their stages have counted, to rank 0.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "runtime/engine/pipeline/pipeline.h"
#include "runtime/records/telemetry/experts/expert_load.h"
#include "runtime/system/comm/network.h"

namespace penstock {

class ExpertLoads {
 public:
  // `pipeline_ranks`: the ranks of this replica. All arguments must outlive this.
  ExpertLoads(const Pipeline& pipeline, Collective& pipeline_ranks, Device& device);

  // The numbers of this rank: the rows of each of its experts in this step, over all micro-batches
  // and replicas. Called after the sums over replicas, before the next step begins. Waits for the
  // device.
  [[nodiscard]] std::span<const double> here();
  // The loads of a step, of mixtures in the order of layers. `numbers`: here() of the ranks of a
  // pipeline, one after another.
  [[nodiscard]] std::vector<ExpertLoad> of(std::span<const double> numbers) const;
  // of() on the first rank of the pipeline, and nothing on the others. Collective over the
  // pipeline.
  [[nodiscard]] std::vector<ExpertLoad> gather();

 private:
  struct Mixture {
    std::string layer;
    size_t first = 0, experts = 0;  // where its numbers lie in those of all ranks
  };
  const Pipeline& pipeline_;
  Collective& ranks_;
  Device& device_;
  std::vector<Mixture> mixtures_;   // in the order of layers
  std::vector<int> counts_;         // by rank of the pipeline: how many numbers it has
  std::vector<double> here_, all_;  // of this rank; of all ranks of the pipeline
  std::vector<float> read_;         // of one mixture, as the device has them
};

}  // namespace penstock
