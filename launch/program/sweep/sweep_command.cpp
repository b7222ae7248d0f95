#include "launch/program/sweep/sweep_command.h"

#include <fmt/format.h>

#include <boost/program_options.hpp>
#include <filesystem>

#include "kernels/error.h"
#include "launch/program/help/flag.h"
#include "launch/program/output.h"
#include "launch/program/start/processor_time.h"
#include "launch/program/sweep/batch/batch_sweep.h"
#include "launch/program/sweep/batch/node_hours.h"
#include "launch/program/sweep/check_plot.h"
#include "launch/program/sweep/directory.h"
#include "launch/program/sweep/file/sweep_file.h"
#include "launch/program/sweep/host_cores.h"
#include "launch/program/sweep/launch_words.h"
#include "launch/program/sweep/local_sweep.h"
#include "launch/program/sweep/pdf.h"
#include "launch/program/sweep/points.h"
#include "runtime/records/sweep/tables/table.h"
#include "runtime/records/telemetry/units.h"

namespace penstock {
namespace {

namespace fs = std::filesystem;

struct SweepOptions {
  std::string operand;  // a sweep file, or a sweep directory to report on
  std::string out;
  bool dry = false, report = false, again = false;
};

CommandOptions sweep_options_into(SweepOptions& options) {
  CommandOptions known;
  known.add_options()("dry", flag(options.dry),
                      "list the points and what is planned of them; start and write nothing")(
      "report", flag(options.report),
      "the table of what there is, and a page with links to those of the runs, also while the "
      "sweep goes on; start nothing")(
      "again", flag(options.again),
      "batch: submit again what was submitted before and has not ended well")(
      "out", boost::program_options::value(&options.out)->value_name("DIR"),
      "the sweep directory [sweep.out of the file]");
  return known;
}

SweepOptions sweep_options(const std::vector<std::string>& arguments) {
  SweepOptions options;
  const std::vector<std::string> rest =
      read_options(sweep_form(), sweep_options_into(options), arguments);
  if (rest.size() > 1) fail_input("sweep: one file at a time, not " + rest[1] + " as well");
  if (rest.empty()) fail_input("sweep: say which sweep file; see penstock sweep --help");
  if (options.dry && options.report) fail_input("sweep: --dry or --report, not both");
  options.operand = rest[0];
  return options;
}

// The process that works on a sweep writes its results itself, after every point.
int report_on(const std::string& directory, const SweepRecord& record) {
  const std::string lock = directory + "/" + kSweepLock;
  if (living_holder(lock)) {
    answer("{}", table_markdown(rows_of(directory, record)));
  } else {
    const DirectoryLock held(lock);
    answer("{}", write_results(directory, record));
    answer("\n{}.\n", write_pdfs(directory, plots_of(record, rows_of(directory, record))));
  }
  answer("{} has all of it, with links to the pages of the runs.\n",
         write_pages(directory, record));
  return 0;
}

void answer_notes(const SweepFile& sweep, const DrawnSweep& drawn) {
  for (const std::string& note : drawn.notes) answer("note: {}\n", note);
  const auto cores = sweep.batch ? std::nullopt : core_note(drawn, usable_processors());
  if (cores) answer("note: {}\n", *cores);
  if (sweep.dry_run) {
    answer(
        "note: run.dry_run: nothing is trained; a point that finishes has started its ranks, read "
        "its data and sent its messages\n");
  }
}

int list_points(const SweepFile& sweep, const DrawnSweep& drawn, const std::string& directory) {
  answer_notes(sweep, drawn);
  const std::vector<ScalingRow> rows = rows_of(directory, drawn.record);
  answer("{}", forecast_markdown(rows));
  if (drawn.record.repeats > 1) answer("\nEach point is run {} times.\n", drawn.record.repeats);
  if (sweep.batch) {
    answer("\n{}.\n", node_hours_text(sweep, rows));
    return 0;
  }
  const std::optional<double> left = seconds_left(rows);
  if (left) {
    answer(
        "\nAbout {} of training are left, one point after the other; start-up, evaluation and "
        "checkpoints come on top.\n",
        seconds_text(*left));
  }
  return 0;
}

int work(const SweepFile& sweep, const DrawnSweep& drawn, const std::string& out, bool again) {
  const SweepDirectory directory(out, drawn);
  answer_notes(sweep, drawn);
  int exit_code = 0;
  if (sweep.batch) {
    answer("{}.\n", node_hours_text(sweep, rows_of(out, drawn.record)));
    submit_points(sweep, drawn, out, again);
  } else {
    exit_code = run_locally(sweep, drawn.record, out);
  }
  answer(
      "\n{}\nThe table is also in {}/table.csv and table.md, its single runs are in runs.csv, the "
      "plots "
      "in throughput.svg and efficiency.svg.\n",
      write_results(out, drawn.record), out);
  answer("{}.\n", write_pdfs(out, plots_of(drawn.record, rows_of(out, drawn.record))));
  return exit_code;
}

}  // namespace

int sweep_command(const std::vector<std::string>& arguments, const ModelMaker& models) {
  const SweepOptions options = sweep_options(arguments);
  if (options.report && fs::is_directory(options.operand)) {
    if (!options.out.empty()) {
      fail_input("sweep: --out is for a sweep file; the report on " + options.operand +
                 " is written into that directory: leave --out out");
    }
    return report_on(options.operand, read_sweep(options.operand));
  }
  SweepFile sweep = read_sweep_file(options.operand);
  if (!options.out.empty()) sweep.out = options.out;
  if (sweep.dry_run) sweep.out += ".dry-run";  // beside the sweep that is trained
  if (options.again && !sweep.batch) {
    fail_input("sweep: --again is for batch sweeps; here what failed is tried again by itself");
  }
  if (options.report) {
    SweepRecord record = read_sweep(sweep.out);
    check_plot(sweep, record);
    record.plot = sweep.plot;
    return report_on(sweep.out, record);
  }
  const DrawnSweep drawn = draw_sweep(sweep, models);
  // Placeholders that mean nothing are found before anything is listed or written.
  for (const SweepPoint& point : drawn.record.points) {
    (void)run_words(sweep.batch ? sweep.submit : sweep.launcher, sweep, {.point = point});
  }
  if (options.dry) return list_points(sweep, drawn, sweep.out);
  return work(sweep, drawn, sweep.out, options.again);
}

const CommandForm& sweep_form() {
  static const CommandForm form{
      .name = "sweep",
      .operand = "FILE.toml",
      .summary = "many runs of one experiment, as one table with plots",
      .about =
          R"(Runs every combination of stages, replicas, micro-batches, schedule and any other key that the file
lists, a run directory each: one after the other, or as jobs of a batch system. A sweep that was
interrupted goes on by the same command. The result is one table (CSV, Markdown) with speed-up and
efficiency against the ideal and against the plan, and plots (SVG, PDF). With --report the operand
may be a sweep directory, and report.html there is a page of the whole sweep.
)",
      .closing =
          "Exit codes: 0 done; 2 a wrong file, or another sweep's directory; 75 stopped on "
          "request, "
          "the same\ncommand goes on; otherwise that of the first point that failed: the table has "
          "its reason.\n",
      .takes_keys = false,
      .options = unread(sweep_options_into)};
  return form;
}

}  // namespace penstock
