// runtime/planning/replay/rank_program.h -- RankPrograms: the programs of a pipeline's ranks, with
// all looked up that a walk over many replicas needs. Private to runtime/planning/replay.
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
  // The last weight gradient of `stage`, if replicas sum its gradients.
  bool completes_gradients = false;
  bool is_first_forward = false;  // of `stage` in the step
  int stage = 0;
  int wire = 0;        // of a message: index in RankPrograms::wires
  int64_t event = -1;  // of a message: its number, 0 .. RankPrograms::messages - 1
  double seconds = 0;  // of a computation
};

// A directed edge between two stages, along which messages go.
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
