#include "launch/program/sweep/directory.h"

#include <fmt/format.h>

#include <filesystem>
#include <set>
#include <sstream>

#include "kernels/error.h"
#include "launch/program/options/run_file.h"
#include "launch/program/output.h"
#include "runtime/records/report/report.h"
#include "runtime/records/run_directory/names.h"
#include "runtime/records/sweep/tables/csv.h"
#include "runtime/records/sweep/tables/page.h"
#include "runtime/records/sweep/tables/table.h"
#include "runtime/system/files/atomic_file.h"
#include "runtime/system/files/input_file.h"

namespace penstock {
namespace {

namespace fs = std::filesystem;

// Makes the directory where it is missing and returns the path of its lock.
std::string prepared(const std::string& path) {
  std::error_code error;
  if (fs::exists(path, error) && !fs::exists(path + "/" + kSweepFile, error)) {
    for (const auto& entry : fs::directory_iterator(path, error)) {
      const std::string name = entry.path().filename();
      if (name.starts_with(kSweepLock) || name.starts_with(kSweepFile)) continue;  // begun, no more
      fail_input(
          fmt::format("{} is no sweep, and has {}: choose another sweep.out or --out", path, name));
    }
  }
  fs::create_directories(path, error);
  if (error) fail_resource(fmt::format("{}: cannot be made: {}", path, error.message()));
  return path + "/" + kSweepLock;
}

std::string first_difference(const std::string& before, const std::string& after) {
  std::istringstream old_lines(before);
  std::istringstream new_lines(after);
  std::string old_line;
  std::string new_line;
  while (std::getline(old_lines, old_line) && std::getline(new_lines, new_line)) {
    if (old_line != new_line) return fmt::format("'{}' there, '{}' now", old_line, new_line);
  }
  return "their lengths differ";
}

// Throws where the point is there with other settings. Both are compared as full run files, so that
// a key that is new in this version makes no difference.
void refuse_other_settings(const std::string& file, const Config& config) {
  if (!fs::exists(file)) return;
  Settings kept;
  read_run_file(file, kept);
  const std::string before = write_run_file(kept.config);
  const std::string after = write_run_file(config);
  if (before == after) return;
  fail_input(
      fmt::format("{} is of a run with other settings ({}): choose another sweep.out or "
                  "--out, or remove that point",
                  file, first_difference(before, after)));
}

// Calls take(directory, config) for each run of the sweep in the directory `path`.
template <class Take>
void for_each_run(const std::string& path, const DrawnSweep& sweep, const Take& take) {
  for (size_t i = 0; i < sweep.record.points.size(); ++i) {
    const SweepPoint& point = sweep.record.points[i];
    if (!point.skipped.empty()) continue;
    for (int repeat = 1; repeat <= sweep.record.repeats; ++repeat) {
      take(run_directory(path, point, repeat), config_of_run(sweep, i, repeat));
    }
  }
}

std::string about(const SweepRecord& record) {
  switch (record.scaling) {
    case Scaling::Strong:
      return fmt::format("strong scaling, mini-batch {}", record.mini_batch);
    case Scaling::Weak:
      return fmt::format("weak scaling, {} samples a step and rank", record.mini_batch);
    default:
      return "mini-batches as they are given";
  }
}

}  // namespace

SweepDirectory::SweepDirectory(std::string path, const DrawnSweep& sweep)
    : path_(std::move(path)), lock_(prepared(path_)) {
  for_each_run(path_, sweep, [&](const std::string& directory, const Config& config) {
    refuse_other_settings(directory + "/" + kPointFile, config);
  });
  write_down(sweep);
}

void SweepDirectory::write_down(const DrawnSweep& sweep) const {
  replace_file(path_ + "/" + kSweepFile, record_json(sweep.record));
  for_each_run(path_, sweep, [](const std::string& directory, const Config& config) {
    if (fs::exists(directory + "/" + kPointFile)) return;
    std::error_code error;
    fs::create_directories(directory, error);
    if (error) fail_resource(fmt::format("{}: cannot be made: {}", directory, error.message()));
    replace_file(directory + "/" + kPointFile, write_run_file(config));
  });
}

SweepRecord read_sweep(const std::string& directory) {
  constexpr int64_t kMostBytes = 16 << 20;
  const std::string file = directory + "/" + kSweepFile;
  if (!fs::exists(file)) fail_input(file + " does not exist: the sweep has not begun");
  return parse_record(read_text(file, kMostBytes, FileOwner::Run), file);
}

std::vector<ScalingRow> rows_of(const std::string& directory, const SweepRecord& record) {
  std::vector<std::vector<Outcome>> runs;
  for (const SweepPoint& point : record.points) {
    std::vector<Outcome>& of_point = runs.emplace_back();
    for (int repeat = 1; repeat <= runs_of(record, point); ++repeat) {
      of_point.push_back(outcome_of(directory, point, repeat, record.warmup));
    }
  }
  return scaling_rows(record.points, runs);
}

std::string write_results(const std::string& directory, const SweepRecord& record) {
  const std::vector<ScalingRow> rows = rows_of(directory, record);
  std::string table = table_markdown(rows);
  replace_file(directory + "/table.csv", table_csv(rows));
  replace_file(directory + "/runs.csv", runs_csv(record, rows));
  replace_file(directory + "/table.md", table);
  for (const SweepPlot& plot : plots_of(record, rows)) {
    replace_file(directory + "/" + plot.file, chart_svg(plot.chart));
  }
  return table;
}

std::vector<SweepPlot> plots_of(const SweepRecord& record, const std::vector<ScalingRow>& rows) {
  return sweep_plots(rows, record.plot, about(record));
}

std::string write_pages(const std::string& directory, const SweepRecord& record) {
  const std::vector<ScalingRow> rows = rows_of(directory, record);
  std::set<std::string> pages;
  for (const ScalingRow& row : rows) {
    for (int repeat = 1; repeat <= runs_of(record, row.point); ++repeat) {
      const std::string run = run_directory(directory, row.point, repeat);
      if (!fs::exists(run + "/" + kMetricsFile)) continue;
      try {
        replace_file(run + "/report.html", run_page(read_run_files(run)));
        pages.insert(run_name(row.point, repeat));
      } catch (const Error& error) {
        tell(fmt::format("{} has no page: {}", run, error.what()));
      }
    }
  }
  std::vector<std::string> plots;
  for (const SweepPlot& plot : plots_of(record, rows)) plots.push_back(chart_svg(plot.chart));
  std::string file = directory + "/report.html";
  replace_file(file, sweep_page(rows, about(record), plots, pages));
  return file;
}

}  // namespace penstock
