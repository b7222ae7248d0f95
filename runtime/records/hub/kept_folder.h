// runtime/records/hub/kept_folder.h -- keep_folder(): when a run starts from a Hugging Face model
// folder, copies all of it but the weights to <run directory>/folder, so that the run can be
// resumed, used and exported even where the original folder is not.
//
// The copy has config.json, the small files of the tokenizer, generation_config.json, and
// origin.json, which names the folder with the weights. "Kept folder" below means such a copy.
#pragma once

#include <string>

namespace penstock {

inline constexpr const char* kKeptFolder = "folder";       // in a run directory
inline constexpr const char* kOriginFile = "origin.json";  // in it: {"weights": "/models/..."}

// Copies the tokenizer's files and generation_config.json from `from` to `to`, those that exist.
// Makes `to` if needed; it must not have such files. `from` empty: copies nothing. Throws
// Error(Resource).
void copy_small_files(const std::string& from, const std::string& to);

// Makes `to` a kept folder of `from`. An older folder at `to` is replaced when the new one is
// complete, so a crash at any moment leaves one of the two (after finish_keeping()). Does nothing
// if `from` and `to` are the same folder. Throws Error(Resource).
void keep_folder(const std::string& from, const std::string& to);

// Removes the files of a kept folder, and the folder itself if nothing else is in it: for a run
// directory that an earlier run left, if the new run's network comes from no folder. Does nothing
// if `folder` has no origin.json. Throws Error(Resource).
void forget_folder(const std::string& folder);

// Must be called before a kept folder is read. If a crash during keep_folder() has left it under a
// temporary name, renames it to `folder`. Does nothing if `folder` exists.
void finish_keeping(const std::string& folder);

// The folder with the weights that origin.json names, whether or not it still exists; empty if
// `folder` is no kept folder.
[[nodiscard]] std::string origin_of(const std::string& folder);

// The folder to read the weights of `folder` from: `folder` itself if it has weights, or its
// origin_of(). Throws Error(Input) if that folder does not exist any more.
[[nodiscard]] std::string weights_folder(const std::string& folder);

}  // namespace penstock
