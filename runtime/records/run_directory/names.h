// runtime/records/run_directory/names.h -- the names of the files in a run directory, the directory
// to which a run writes all its results (docs/output.md).
//
// An attempt is one start of a run; a run that was stopped and resumed has several.
//
//   run.json       the identity of the run, how many attempts there were, sizes of its data
//   classes.json   for images: the name of the class that each label stands for
//   run.toml       all options in effect, itself a run file; paths in it are relative to it
//   run.lock       says which process writes here now
//   log.txt, metrics.jsonl               appended to by every attempt
//   tensorboard/events.out.tfevents.*    one file of each attempt, where they are asked for
//   starts.jsonl   when, by what and how each attempt was started; appended to
//   summary.json, trace.json             of the latest attempt that wrote one
//   pieces-*.model a tokenizer's vocabulary that was made from the training text
//   searched_schedule.csv, searched_certificate.json
//                  a schedule that was searched, and how far from the best it is at most
//   folder/        all but the weights of the Hugging Face folder that the network came from
//   checkpoints/step-*                   the checkpoints
//   checkpoints/before-attempt-*/step-*  checkpoints of later steps than an attempt began at
//   stop           a user makes it to ask the run to stop
//   excluded_hosts names of hosts whose hardware computed or kept wrong bits (docs/audits.md)
#pragma once

#include <array>

namespace penstock {

inline constexpr const char* kIdentityFile = "run.json";
inline constexpr const char* kClassesFile = "classes.json";
inline constexpr const char* kRunFile = "run.toml";
inline constexpr const char* kLockFile = "run.lock";
inline constexpr const char* kMetricsFile = "metrics.jsonl";
inline constexpr const char* kLogFile = "log.txt";
inline constexpr const char* kStartsFile = "starts.jsonl";
inline constexpr const char* kStopFile = "stop";
inline constexpr const char* kReplanFile = "replan";
inline constexpr const char* kExcludedHostsFile = "excluded_hosts";
inline constexpr const char* kScheduleFile = "searched_schedule.csv";
inline constexpr const char* kCertificateFile = "searched_certificate.json";
inline constexpr const char* kCheckpointFolder = "checkpoints";
inline constexpr const char* kEventFolder = "tensorboard";
inline constexpr const char* kDryRunFile = "dry_run.json";  // of a dry run, in its own DIR.dry-run
// The files that count as results of a run, besides its checkpoints: if one is there, a new run
// refuses the directory unless it may overwrite them. The list of starts is none: a start that
// never took a step has no results.
inline constexpr std::array<const char*, 4> kResultFiles = {kMetricsFile, "summary.json",
                                                            "trace.json", "report.html"};

// The first line of every run.toml that Penstock writes. By it a file that may be overwritten is
// told from a user's own.
inline constexpr const char* kEffectiveHeader = "# The effective configuration of a Penstock run.";

}  // namespace penstock
