// runtime/records/hub/kept_folder.h -- copies to the run directory what a run keeps of the folder
// that its network comes from: all but the weights, so that the run can be resumed, used and
// exported where that folder is not.
#pragma once

#include <string>

namespace penstock {

inline constexpr const char* kKeptFolder = "folder";       // in a run directory
inline constexpr const char* kOriginFile = "origin.json";  // in it: {"weights": "/models/..."}

// Copies the small files beside config.json, those of the tokenizer and generation_config.json, as
// far as `from` has them (empty: none), to `to`, which must not have them. Throws Error(Resource).
void copy_small_files(const std::string& from, const std::string& to);

// Makes `to` the kept form of `from`: its small files, config.json and origin.json. Replaces an
// older folder there when the new one is whole, so a kill at any moment leaves one of them. Does
// nothing where `from` and `to` are the same folder. Throws Error(Resource).
void keep_folder(const std::string& from, const std::string& to);

// Removes what keep_folder() has put into `folder`, and then the folder if nothing else is in it,
// for a run whose network comes from no folder. Does nothing to a folder without origin.json.
// Throws Error(Resource).
void forget_folder(const std::string& folder);

// Gives `folder` its name back where a kill in keep_folder() has left it under another one (on file
// systems that cannot exchange two names); does nothing where `folder` is there. Called before a
// kept folder is read.
void finish_keeping(const std::string& folder);

// The folder where the weights were when `folder` was kept, whether or not they are there now;
// empty for a folder that is no kept one.
[[nodiscard]] std::string origin_of(const std::string& folder);

// The folder that has the weights of `folder`: itself, or, for a kept one, its origin. Throws
// Error(Input) where they are gone from there.
[[nodiscard]] std::string weights_folder(const std::string& folder);

}  // namespace penstock
