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
  // Micro-batches by their global index. Of the first forward only, not of one that is run again.
  virtual void output(const std::string& layer, int64_t micro_batch,
                      std::span<const Variable> outputs) = 0;
  // A parameter of the layer has this micro-batch's gradient; with pipeline.reduction = "fast"
  // those of the ones before are in it.
  virtual void gradient(const std::string& layer, int64_t micro_batch,
                        const Parameter& parameter) = 0;
};

}  // namespace penstock
