// runtime/network/layers/observer.h -- LayerObserver: told what every layer makes of every
// micro-batch, in a pass that is run to look for something. It may take its time; no other pass has
// one.
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
  // Called for the first forward of a micro-batch, known by its global index, not for one that is
  // run again.
  virtual void output(const std::string& layer, int64_t micro_batch,
                      std::span<const Variable> outputs) = 0;
  // Called when a parameter of the layer has this micro-batch's gradient; with pipeline.reduction =
  // "fast" the gradients of the micro-batches before are in it.
  virtual void gradient(const std::string& layer, int64_t micro_batch,
                        const Parameter& parameter) = 0;
};

}  // namespace penstock
