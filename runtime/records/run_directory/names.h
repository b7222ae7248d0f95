// runtime/records/run_directory/names.h -- what a run directory is made of (docs/output.md).
//
//   run.json       the identity of the run, how many attempts there were, sizes of its data
//   classes.json   of images: what the classes are called, by label
//   run.toml       the effective configuration, itself a run file; paths in it are relative to it
//   run.lock       who writes here now
//   log.txt, metrics.jsonl               appended to by every attempt
//   tensorboard/events.out.tfevents.*    one of every attempt, where they are asked for
//   summary.json, trace.json             of the latest attempt that wrote one
//   pieces-*.model the vocabulary of word pieces
//   folder/        of a Hugging Face folder that the network came from all but the weights
//   checkpoints/step-*, and checkpoints/before-attempt-*/step-*: set aside by going on from an
//                  earlier step
//   stop           asks the run to stop: made by people
//   excluded_hosts those that an audit found to be wrong
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
// What a run is there for, beside its checkpoints.
inline constexpr std::array<const char*, 4> kResultFiles = {kMetricsFile, "summary.json",
                                                            "trace.json", "report.html"};

// The first line of every run file that penstock writes: such a file may be overwritten, a user's
// may not.
inline constexpr const char* kEffectiveHeader = "# The effective configuration of a Penstock run.";

}  // namespace penstock
