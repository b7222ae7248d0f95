// tests/support/trained.h -- with_gradients(): the entries of a stage's state that have a gradient.
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
