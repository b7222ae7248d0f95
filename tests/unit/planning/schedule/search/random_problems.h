// tests/unit/planning/schedule/search/random_problems.h -- problems from dice, for the tests of
// searches.
#pragma once

#include <random>
#include <vector>

#include "runtime/planning/schedule/search/problem.h"
#include "runtime/planning/schedule/search/step_timer.h"

namespace penstock {

using Random = std::mt19937;

// A number of low .. high, both included.
int between(Random& random, int low, int high);
double number(Random& random, double low, double high);

struct Sizes {
  int ranks = 1, chunks = 1, micro_batches = 1;
  bool in_a_v = false;  // two chunks, placed as zb_v() does
  int more = 0;         // so many more stages, all placed by dice: placement_by_dice()
};
// The ranks of so many stages, each of which has one at least.
std::vector<int> placement_by_dice(Random& random, int ranks, int stages);
// Stages whose times differ up to 4 x, each holding some bytes; no messages, recomputes or limits.
SearchProblem unlike_stages(Random& random, const Sizes& sizes);
// Adds messages over links of one or two kinds, some of which take the processors' time.
void add_messages(Random& random, SearchProblem& problem);
// Adds a limit to every rank: room for 1 to `most` micro-batches in all of the rank's stages.
void add_limits(Random& random, SearchProblem& problem, int most);
// Makes whole backwards cheaper or dearer than two halves, stage by stage.
void add_costs_of_halves(Random& random, SearchProblem& problem);

// Programs in which every rank takes at random what it can run next; whole backwards now and then.
// They may pass limits.
Programs random_programs(Random& random, const SearchProblem& problem);

}  // namespace penstock
