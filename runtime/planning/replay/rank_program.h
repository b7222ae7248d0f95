// runtime/planning/replay/rank_program.h -- the programs of a pipeline, with everything looked up
// that a walk over many of its replicas needs. Private to runtime/planning/replay.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "runtime/planning/replay/job.h"
#include "runtime/planning/schedule/edges.h"

namespace penstock {

// One instruction.
struct RankStep {
  enum class Kind : uint8_t { Compute, Send, Receive, Nothing };
  Kind kind = Kind::Nothing;
  bool completes_gradients = false;  // the last weight gradient of `stage`, and that is summed
  bool is_first_forward = false;     // of `stage`
  int stage = 0;
  int wire = 0;        // of a message: its directed edge
  int64_t event = -1;  // of a message: its number, 0 .. RankPrograms::messages - 1
  double seconds = 0;  // of a computation
};

// A directed edge.
struct WireEnds {
  int from = 0, to = 0;  // positions
  double bytes = 0;      // of each message
};

struct RankPrograms {
  // Throws std::invalid_argument for a schedule without messages between its ranks.
  explicit RankPrograms(const Job& job);

  std::vector<std::vector<RankStep>> program;  // by position
  std::vector<WireEnds> wires;
  size_t messages = 0;  // of a replica

 private:
  void list_wires(const Job& job, const Edges& edges);
  void list_steps(const Job& job, const Edges& edges);
  void find_last_gradients(const Job& job);
};

}  // namespace penstock
