// runtime/engine/training/checkpoints/resume_rules.h -- which keys of its configuration a run that
// goes on from a checkpoint may change. Pure, and the one place where that is decided.
//
// A resumed run is the same run: the same network, the same optimizer with its state, the same
// samples in the same order. How it is spread over ranks and micro-batches, how long it goes on and
// what it tells of itself may change, and so may the numbers of the update rule.
#pragma once

#include <string>
#include <vector>

namespace penstock {

// A key of the run file ("pipeline.stages"), its value in the checkpoint and its value now.
struct ChangedKey {
  std::string key, saved, given;
};

// Compares two effective run files, as write_run_file() writes them: a section's name, then a key a
// line. Returns the keys that differ and may. Throws Error(Input) for the first key that differs
// and may not, with both values. Keys that only one file has are of another version of this
// program, and are not compared.
[[nodiscard]] std::vector<ChangedKey> compare_for_resume(const std::string& saved,
                                                         const std::string& given);

// "pipeline.stages 2 -> 4, run.steps 100 -> 200"; empty without changes.
[[nodiscard]] std::string describe(const std::vector<ChangedKey>& changes);

}  // namespace penstock
