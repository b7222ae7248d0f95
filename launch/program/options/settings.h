// launch/program/options/settings.h -- Settings: the configuration of a run while it is put
// together from defaults, the run file and the command line, with the place that each value came
// from, for messages. Later assignments win. complete() makes the checks of several keys whose
// message needs the line of the file, or which look for files; all others are in
// runtime/planning/blueprint/blueprint.h.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>

#include "launch/program/options/option_table.h"

namespace penstock {

// The largest schedule file (CSV) that is read, enough for 2^24 instructions.
inline constexpr int64_t kMostScheduleBytes = int64_t{128} << 20;

// What pipeline.devices may say in place of a file: the ranks of a run find out themselves.
inline constexpr const char* kMeasuredDevices = "measured";

struct Settings {
  Config config;                   // the values so far
  std::filesystem::path run_file;  // as the user gave it; empty: none
  // One entry for each key that the run file or the command line sets, with the place that set it
  // last: "pipeline.stages" -> "run.toml:12" or "--stages".
  std::map<std::string, std::string> origins;
  std::optional<Config> in_file;  // what the run file says by itself; nothing: there is none
  bool made_by_program = false;   // the run file is one that write_run_file() has made

  // Whether the user has set the key `name` ("pipeline.stages"), perhaps to its default.
  [[nodiscard]] bool given(const std::string& name) const { return origins.contains(name); }
  // Whether the key was set by an option of the command line.
  [[nodiscard]] bool on_command_line(const std::string& name) const;
  // How a message about the key starts: the place where it was set; for a key that was not set, the
  // run file.
  [[nodiscard]] std::string place_of(const std::string& name) const;
};

// Sets one option and remembers its origin. Throws Error(Input) naming origin, key, value and what
// is allowed.
void assign(Settings& settings, const Option& option, const OptionValue& value,
            const std::string& origin);

// Throws Error(Input) about a value of the wrong type or outside the limits; `written` is how the
// user wrote it.
[[noreturn]] void refuse_value(const Option& option, const std::string& written,
                               const std::string& origin);

// The data that a command reads. Data that it does not read may be missing: a trained run is often
// used on machines that never had its training text.
enum class DataRead : uint8_t { All, Validation, Nothing };

// Called when everything is assigned. Checks that the mini-batch is replicas x micro-batches x
// samples of a micro-batch (or computes the number of micro-batches, where that is not given),
// completes [model] and [lora] from folders, makes paths absolute, and, when the run file lies in a
// run directory, takes that as run.out. Throws Error(Input) for numbers that do not multiply, and
// for a missing file, naming the places where it was looked for.
void complete(Settings& settings, DataRead read = DataRead::All);

}  // namespace penstock
