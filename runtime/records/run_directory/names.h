// runtime/records/run_directory/names.h -- names of the files of a run directory (docs/output.md).
//
//   run.json       the identity of the run, how many attempts there were, sizes of its data
//   classes.json   of images: what the classes are called, by label
//   run.toml       the effective configuration, itself a run file; its paths are relative to itself
//   run.lock       who writes here now
//   log.txt, metrics.jsonl               appended to by every attempt
//   tensorboard/events.out.tfevents.*    one file of each attempt, where they are asked for
//   summary.json, trace.json             of the latest attempt that wrote one
//   pieces-*.model the vocabulary of word pieces
//   folder/        all but the weights of the Hugging Face folder that the network came from
//   checkpoints/step-*                   the checkpoints
//   checkpoints/before-attempt-*/step-*  those set aside when an attempt began at an earlier step
//   stop           asks the run to stop: made by people
//   excluded_hosts hosts that an audit found to compute or keep wrong bits
#pragma once

#include <array>

namespace penstock {

inline constexpr const char* kIdentityFile = "run.json";
inline constexpr const char* kClassesFile = "classes.json";
inline constexpr const char* kRunFile = "run.toml";
inline constexpr const char* kLockFile = "run.lock";
inline constexpr const char* kMetricsFile = "metrics.jsonl";
inline constexpr const char* kLogFile = "log.txt";
inline constexpr const char* kStopFile = "stop";
inline constexpr const char* kCheckpointFolder = "checkpoints";
inline constexpr const char* kEventFolder = "tensorboard";
// The results of a run, beside its checkpoints.
inline constexpr std::array<const char*, 4> kResultFiles = {kMetricsFile, "summary.json",
                                                            "trace.json", "report.html"};

// The first line of every run file that penstock writes: such a file may be overwritten, a user's
// may not.
inline constexpr const char* kEffectiveHeader = "# The effective configuration of a Penstock run.";

}  // namespace penstock
