// runtime/engine/training/checkpoints/resume.h -- resumes a training run from a checkpoint, at any
// number of stages and replicas: checks that the checkpoint is of this run, says where to go on,
// and loads the state.
//
// Run calls, in this order: find_resume_point() before anything is allocated, then
// verify_checkpoint() and load_state(). refuse_other_run() is the part that needs no other ranks.
// What a resumed run may change is in resume_rules.h.
#pragma once

#include <string>

#include "runtime/engine/training/checkpoints/progress.h"
#include "runtime/network/stage/state_table.h"
#include "runtime/planning/blueprint/config.h"
#include "runtime/system/comm/network.h"

namespace penstock {

// The place in a run's steps and data where it begins.
struct ResumePoint {
  // The path of its step-... directory; empty: the run starts from the beginning.
  std::string checkpoint;
  Progress progress;
  std::string note;  // a line for the user, on rank 0
};

// Compares what `checkpoint` (a step-... directory) says of its run with this run: `config`, and
// the same as text, `run_file`. Returns which keys have changed, "pipeline.stages 2 -> 4"; "" where
// none has. Throws Error(Input) when it is another run's, or when no step and no evaluation is left
// to do; Error(Data) for a damaged checkpoint. Writes nothing.
std::string refuse_other_run(const std::string& checkpoint, const Config& config,
                             const std::string& run_file);
// The part of it that compares what must stay the same, whatever is left to do.
std::string refuse_other_settings(const std::string& checkpoint, const Config& config,
                                  const std::string& run_file);

// Finds where to go on. Collective over `world`: rank 0 compares as refuse_other_run() does, and
// also the data that the checkpoint's run had with this run's, which `begin` describes
// (DataSource::begin()). Where `checkpoint` is empty the result is `begin`. Throws Error on every
// rank: as refuse_other_run() does, and Error(Input) where the data are others.
[[nodiscard]] ResumePoint find_resume_point(const std::string& checkpoint, const Config& config,
                                            const std::string& run_file, const Progress& begin,
                                            Collective& world);

// Reads all files of the checkpoint and compares their checksums with the manifest's. Collective
// over `world`: each rank reads a share. Throws Error(Data) on every rank, naming the damaged file.
void verify_checkpoint(const std::string& checkpoint, Collective& world);

// Loads the weights, optimizer states and averages of this rank's entries `state`, whose memory is
// allocated already, from files that verify_checkpoint() has found whole. Collective over `world`,
// all ranks of the run; each reads only its own entries. Throws on every rank, naming file and
// tensor: Error(Data) where one is missing or a file is damaged, Error(Input) where one has another
// shape.
void load_state(const std::string& checkpoint, StateRange state, Device& device, Collective& world);

}  // namespace penstock
