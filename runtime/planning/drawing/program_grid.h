// runtime/planning/drawing/program_grid.h -- the order of instructions of every known schedule at
// every size that the HTML page's sliders reach, as one compact JSON text inside the page.
//
// The page (page.h) can thereby show any of these schedules without a server. The text holds only
// orders; the page's script (page/programs.js) computes the times. To be small, each order is one
// letter per instruction, and repeated letters are counted: 1.7 MB for all.
#pragma once

#include <string>

#include "runtime/planning/schedule/schedule.h"

namespace penstock {

// The largest sizes in the grid. The grid has every schedule with 1 .. ranks ranks, 1 ..
// micro_batches micro-batches, and each number of stages per rank (chunks) up to the limit that the
// schedule allows.
struct GridLimits {
  int ranks = 16, micro_batches = 32, chunks = 4;
};

// The grid as an object: "ranks", "micro_batches" and "chunks" are the limits; "programs" has an
// entry for each schedule and size, such as "1f1b 4x1" for 4 ranks with 1 stage each. An entry is
// {"at": the rank of each stage, "of": an array}; element i of "of" is the order for i + 1
// micro-batches, which is run_length_form() (run_lengths.h) of packed_programs(), or {"error": a
// sentence} where the schedule cannot have that size.
[[nodiscard]] std::string program_grid_json(const GridLimits& limits = {});

// The orders of all ranks of one schedule as text: one letter for each instruction, a space between
// ranks. A rank with one stage has the letters A (forward), B (input half of a backward), C (weight
// half), D (whole backward); its second stage, if any, has E, F, G, H in the same sense, and so on.
// So "AAADDD" is one rank of GPipe with 3 micro-batches.
//
// Numbers of micro-batches are not written, since they follow: the forwards of a stage take
// micro-batches in ascending order, so do its backwards (whole or input halves), and a weight half
// belongs to the oldest input half whose weight half has not come. `compute_only` is a schedule as
// a generator makes it, before lower(). Throws std::invalid_argument for a schedule with messages
// or other instructions, or with micro-batches in another order.
[[nodiscard]] std::string packed_programs(const Schedule& compute_only);

}  // namespace penstock
