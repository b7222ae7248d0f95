// runtime/engine/training/checkpoints/resume_rules.h -- says which keys of the run file may differ
// when a run is resumed from a checkpoint, the one place where this is decided. Pure.
//
// A resumed run must be the same run: the same network, the same kind of optimizer with its state,
// the same samples in the same order. It may change how it is spread over ranks and micro-batches,
// how long it goes on, what it reports, and the numbers of the update rule (learning rate, ...).
#pragma once

#include <string>
#include <vector>

namespace penstock {

// A key of the run file, "pipeline.stages", with its value in the checkpoint and its value now,
// both as the file writes them.
struct ChangedKey {
  std::string key, saved, given;
};

// Compares the texts of two complete run files, as write_run_file()
// (launch/program/options/run_file.h) writes them. Returns the keys that differ and may differ.
// Throws Error(Input) for the first key that differs and must not, with both values. Keys that only
// one text has come from another version of the program and are not compared.
[[nodiscard]] std::vector<ChangedKey> compare_for_resume(const std::string& saved,
                                                         const std::string& given);

// Text for the user: "pipeline.stages 2 -> 4, run.steps 100 -> 200"; empty without changes.
[[nodiscard]] std::string describe(const std::vector<ChangedKey>& changes);

}  // namespace penstock
