// runtime/engine/training/checkpoints/resume.h -- going on from a checkpoint as if the run had
// never stopped, at any number of stages and replicas.
#pragma once

#include <string>

#include "runtime/engine/training/checkpoints/progress.h"
#include "runtime/network/stage/state_table.h"
#include "runtime/planning/blueprint/config.h"
#include "runtime/system/comm/network.h"

namespace penstock {

struct ResumePoint {
  std::string checkpoint;  // a step directory; empty: the run starts from the beginning
  Progress progress;
  std::string note;  // for the user, on rank 0
};

// Reads what a checkpoint says of its run and compares it with this run, whose configuration as
// text is `run_file`. Returns which keys have changed, as a resumed run may change them
// ("pipeline.stages 2 -> 4"); "" where none has. Throws Error(Input) for another run, or where
// neither a step nor an evaluation is left; Error(Data) for a damaged checkpoint. Writes nothing.
std::string refuse_other_run(const std::string& checkpoint, const Config& config,
                             const std::string& run_file);

// Collective over `world`: rank 0 compares what the checkpoint says of its run and its data with
// this run, whose configuration as text is `run_file`, and with its data, which `begin` tells.
// Returns where to go on: at `begin` where `checkpoint` is empty. Throws Error on every rank: as
// refuse_other_run() does, and where the data are others.
[[nodiscard]] ResumePoint find_resume_point(const std::string& checkpoint, const Config& config,
                                            const std::string& run_file, const Progress& begin,
                                            Collective& world);

// Collective over `world`: each rank reads a share of the files. Throws Error(Data) on every rank,
// naming a file whose checksum is not the manifest's.
void verify_checkpoint(const std::string& checkpoint, Collective& world);

// Collective over `world`, all ranks of the run. Reads the values, optimizer states and averages of
// this rank's entries into the memory that they must have already, and no others, from files that
// verify_checkpoint() found whole. Throws on every rank, naming file and tensor.
void load_state(const std::string& checkpoint, StateRange state, Device& device, Collective& world);

}  // namespace penstock
