// tests/support/trained.h -- what has a gradient among the state of a stage.
#pragma once

#include <vector>

#include "runtime/network/stage/stage.h"

namespace penstock {

[[nodiscard]] inline std::vector<StateEntry*> with_gradients(Stage& stage) {
  std::vector<StateEntry*> all;
  for (StateEntry* entry : stage.weights().state()) {
    if (entry->gradient) all.push_back(entry);
  }
  return all;
}

}  // namespace penstock
