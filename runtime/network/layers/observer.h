// runtime/network/layers/observer.h -- LayerObserver: is shown what every layer computes for every
// micro-batch, in a pass that is run again to find where the first NaN or infinity comes from.
//
// The stage calls it where Pass::probe (context.h) names one. Ordinary passes have no observer, so
// an observer may be slow, and may wait for the device.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "runtime/network/autograd/parameter.h"
#include "runtime/network/autograd/tape.h"

namespace penstock {

class LayerObserver {
 public:
  virtual ~LayerObserver() = default;
  // Called after the first forward of a layer on a micro-batch, not after a recompute. `layer` is
  // the layer's name, `micro_batch` the index among the micro-batches of all replicas.
  virtual void output(const std::string& layer, int64_t micro_batch,
                      std::span<const Variable> outputs) = 0;
  // Called for each trained parameter of the layer when this micro-batch's gradient has been added
  // to Parameter::gradient. With pipeline.reduction = "fast" that tensor then has the sum of this
  // and the earlier micro-batches of the step, with "exact" this micro-batch's gradient alone.
  virtual void gradient(const std::string& layer, int64_t micro_batch,
                        const Parameter& parameter) = 0;
};

}  // namespace penstock
