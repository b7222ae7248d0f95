// The smallest window that a schedule can run with, by replays under one window after another.
#include "runtime/planning/schedule/proof/window.h"

#include <algorithm>

#include "runtime/planning/schedule/proof/replay.h"

namespace penstock {

int message_window(const Schedule& lowered, int least) {
  if (runs_to_its_end(lowered, {.window = least})) return least;
  int too_small = least;
  int enough = std::max(least, lowered.micro_batches);
  while (enough - too_small > 1) {
    const int middle = too_small + (enough - too_small) / 2;
    (runs_to_its_end(lowered, {.window = middle}) ? enough : too_small) = middle;
  }
  return enough;
}

}  // namespace penstock
