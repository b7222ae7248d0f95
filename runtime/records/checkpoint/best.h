// runtime/records/checkpoint/best.h -- the best checkpoint of a run, where checkpoint.best looks
// for one: that of the newest new best. Every checkpoint says in its state.json which evaluation
// was the best so far, so a new best is a checkpoint whose own evaluation that is
// (CheckpointState::is_best()). The link `best` (layout.h) is made from that and never read.
//
// `root` is the directory of all checkpoints, "<run>/checkpoints".
#pragma once

#include <optional>
#include <string>

#include "runtime/records/checkpoint/layout.h"

namespace penstock {

// The newest checkpoint of the run with the identity `run` that was the best when it was written;
// null where there is none.
[[nodiscard]] std::optional<StepDirectory> best_checkpoint(const std::string& root,
                                                           const std::string& run);

// Makes the link `best` lead to that checkpoint. Where there is none, removes a link that leads
// nowhere. Throws Error(Resource).
void settle_best_link(const std::string& root, const std::string& run);

}  // namespace penstock
