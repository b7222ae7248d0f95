// launch/program/options/settings.h -- Settings: a Config in the making, with the place that each
// value came from, and the checks that span several keys. Later assignments win: defaults, run
// file, command line.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>

#include "launch/program/options/option_table.h"

namespace penstock {

// The largest file of a schedule (CSV) that is read: 2^24 instructions.
inline constexpr int64_t kMostScheduleBytes = int64_t{128} << 20;

struct Settings {
  Config config;
  std::filesystem::path run_file;              // as given by the user; empty: none
  std::map<std::string, std::string> origins;  // "pipeline.stages" -> "run.toml:12", "--stages"

  [[nodiscard]] bool given(const std::string& name) const { return origins.contains(name); }
  // Whether the key was given by an option of this command and not by the run file.
  [[nodiscard]] bool on_command_line(const std::string& name) const;
  // The place where the key was set, or the run file when it was not: how a message starts.
  [[nodiscard]] std::string place_of(const std::string& name) const;
};

// Sets one option and its origin. Throws Error(Input) naming origin, key, value and what is
// allowed.
void assign(Settings& settings, const Option& option, const OptionValue& value,
            const std::string& origin);

// Throws Error(Input) about a value of the wrong type or outside the limits; `written` as the user
// wrote it.
[[noreturn]] void refuse_value(const Option& option, const std::string& written,
                               const std::string& origin);

// The data that a command reads. Data that it does not read may be gone: a trained run is used
// where its training text never was.
enum class DataRead : uint8_t { All, Validation, Nothing };

// Completes the settings when all sources are read: checks the mini-batch equation, makes paths
// absolute, and takes the run directory of a run file that lies in one. Throws Error(Input):
// numbers that do not multiply, or a missing file naming the places tried.
void complete(Settings& settings, DataRead read = DataRead::All);

}  // namespace penstock
