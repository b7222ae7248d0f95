// launch/program/run_directory.cpp -- see run_directory.h.
#include "launch/program/run_directory.h"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "kernels/error.h"
#include "launch/program/options/run_file.h"
#include "runtime/telemetry/output_file.h"

namespace penstock {
namespace {

namespace fs = std::filesystem;

// Of an earlier run here: this one writes them at its end, or not at all.
void remove_results(const fs::path& folder) {
  std::error_code error;
  for (const char* file : {"summary.json", "trace.json"}) {
    fs::remove(folder / file, error);
    if (error) fail_resource(fmt::format("{}: {}", (folder / file).string(), error.message()));
  }
}

bool is_ours(const fs::path& file) {
  std::ifstream stream(file);
  std::string first;
  return std::getline(stream, first) && first == kEffectiveHeader;
}

}  // namespace

void prepare_run_directory(const Config& config) {
  const fs::path folder = config.run.out;
  if (folder.empty()) fail_input("run.out is empty: name a run directory with --out DIR");
  std::error_code error;
  fs::create_directories(folder, error);
  if (error || !fs::is_directory(folder)) {
    fail_resource(fmt::format("{}: cannot be made a run directory: {}; choose another --out",
                              folder.string(), error ? error.message() : "it is a file"));
  }
  const fs::path file = folder / "run.toml";
  if (fs::exists(file, error)) {
    if (!is_ours(file)) {
      fail_input(fmt::format(
          "{}: was not written by penstock and would be overwritten; choose another --out",
          file.string()));
    }
    remove_results(folder);
  }
  replace_file(file.string(), write_run_file(config));
}

}  // namespace penstock
