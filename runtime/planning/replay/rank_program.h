// runtime/planning/replay/rank_program.h -- RankPrograms: the programs of a schedule in a form that
// can be simulated fast for many replicas: each instruction with its time, its message number and
// its edge looked up in advance.
//
// All replicas run the same programs, so StepWalk (step_walk.h) makes one RankPrograms for the
// whole job. A "position" is the number of a rank within its pipeline. Used only inside
// runtime/planning/replay.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "runtime/planning/replay/job.h"
#include "runtime/planning/schedule/edges.h"

namespace penstock {

// One instruction of a program.
struct RankStep {
  // Nothing: ReduceGradients, Audit and OptimizerStep, which the simulation treats elsewhere.
  enum class Kind : uint8_t { Compute, Send, Receive, Nothing };
  Kind kind = Kind::Nothing;
  // Whether it is the last weight gradient of `stage`, after which replicas sum gradients.
  bool completes_gradients = false;
  bool is_first_forward = false;  // whether it is the first forward of `stage` in the step
  int stage = 0;
  int wire = 0;  // of a Send or Receive: index in RankPrograms::wires
  // The number of the message, 0 .. RankPrograms::messages - 1: a Send and its Receive have the
  // same. -1 where it is no message.
  int64_t event = -1;
  // What a Compute does, and its seconds before noise where replicas are alike.
  Op op = Op::Forward;
  double seconds = 0;
};

// A directed edge between two stages, along which messages go.
struct WireEnds {
  int from = 0, to = 0;  // positions
  double bytes = 0;      // of each message
};

struct RankPrograms {
  // Throws std::invalid_argument for a schedule of several ranks that has no messages.
  explicit RankPrograms(const Job& job);

  std::vector<std::vector<RankStep>> program;  // by position
  std::vector<WireEnds> wires;                 // by directed_edge() (schedule/edges.h)
  size_t messages = 0;                         // how many message numbers a replica has

 private:
  void list_wires(const Job& job, const Edges& edges);
  void list_steps(const Job& job, const Edges& edges);
  void find_last_gradients(const Job& job);
};

}  // namespace penstock
