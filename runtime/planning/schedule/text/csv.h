// runtime/planning/schedule/text/csv.h -- parse_csv(), to_csv() and to_pytorch_csv(): read and
// write a pipeline schedule as a table of comma-separated values, so that users can write schedules
// of their own with a spreadsheet or a script.
//
// The text has one line per rank, in order of ranks. A cell is one forward or backward, written as
// text() (schedule.h) writes it: op (F forward, B backward, I and W its input and weight half),
// stage, micro-batch. Two stages and two micro-batches:
//
//   F0.0,F0.1,    ,    ,B0.0,B0.1
//       ,F1.0,B1.0,F1.1,B1.1
//
// Cells may also be written as torch.distributed.pipelining writes them ("0F3", "3I1"), so that its
// schedules can be read and it can read ours. Its pairs, "(0F3;3B1)OVERLAP_F_B", run one after the
// other; its messages and sums ("0SEND_F3", "0REDUCE_GRAD") are refused, with how to leave them
// out.
//
// Empty cells only help the eye: an instruction runs as early as it can. The numbers of ranks,
// stages and micro-batches, and which rank holds which stage, follow from the cells. Recomputes,
// messages, sums over replicas and the update are not written; lower() (lower.h) inserts them.
#pragma once

#include <string>
#include <string_view>

#include "runtime/planning/schedule/schedule.h"

namespace penstock {

// Returns the schedule, with compute instructions only. Ignored are blanks around cells, lines that
// start with '#', empty lines at the end, a byte order mark, and the CR of CR LF. `name` is what
// error messages call the text, such as its file name. Throws std::invalid_argument, naming line
// and cell, if the text is no well-formed schedule (well_formed.h) or lacks the forward of a
// micro-batch in a stage. All other defects are left to verify() (proof/verify.h).
[[nodiscard]] Schedule parse_csv(std::string_view text, const std::string& name);

// Writes the forwards and backwards of a schedule, and leaves out what lower() inserts. parse_csv()
// of the result gives the schedule as it was before lower(), but without its skip connections,
// which CSV cannot hold.
[[nodiscard]] std::string to_csv(const Schedule& schedule);
// The same with PyTorch's cells, for its _load_csv().
[[nodiscard]] std::string to_pytorch_csv(const Schedule& schedule);

}  // namespace penstock
