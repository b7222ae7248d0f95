// runtime/network/layers/observer.h -- LayerObserver: is shown what every layer makes of every
// micro-batch, in a pass that is run to find a fault. Other passes have no observer, so an observer
// may be slow.
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
  // Called after the first forward of a layer on a micro-batch, not after a recompute.
  // `micro_batch` is the global index.
  virtual void output(const std::string& layer, int64_t micro_batch,
                      std::span<const Variable> outputs) = 0;
  // Called when this micro-batch's gradient has been added to the parameter's; with
  // pipeline.reduction = "fast" that holds the micro-batches before, too.
  virtual void gradient(const std::string& layer, int64_t micro_batch,
                        const Parameter& parameter) = 0;
};

}  // namespace penstock
