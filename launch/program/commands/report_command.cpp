#include "launch/program/commands/report_command.h"

#include <boost/program_options.hpp>
#include <chrono>
#include <cstdio>
#include <thread>

#include "kernels/error.h"
#include "runtime/records/report/report.h"
#include "runtime/system/files/atomic_file.h"

namespace penstock {
namespace {

struct ReportOptions {
  std::string directory;
  std::string out;      // if empty, report.html in the directory
  int64_t every_s = 0;  // 0 stands for a single report
};

CommandOptions report_options_into(ReportOptions& options) {
  CommandOptions known;
  known.add_options()("out", boost::program_options::value(&options.out)->value_name("FILE"),
                      "where the page is written to [RUNDIR/report.html]");
  known.add_options()("every",
                      boost::program_options::value(&options.every_s)->value_name("SECONDS"),
                      "write it again every so often, until the run ends; the page, once open, "
                      "follows");
  return known;
}

ReportOptions report_options(const std::vector<std::string>& arguments) {
  ReportOptions options;
  const std::vector<std::string> rest =
      read_options(report_form(), report_options_into(options), arguments);
  if (rest.size() > 1) {
    fail_input("report: one run directory at a time, not " + rest[1] + " as well");
  }
  if (rest.empty()) fail_input("report: say which run directory; see penstock report --help");
  if (options.every_s < 0) fail_input("report: --every takes a number of seconds");
  options.directory = rest[0];
  return options;
}

}  // namespace

std::string report_text(const std::vector<std::string>& arguments) {
  const ReportOptions options = report_options(arguments);
  const std::string out = options.out.empty() ? options.directory + "/report.html" : options.out;
  RunFiles files = read_run_files(options.directory);
  replace_file(out, run_page(files, options.every_s));
  if (options.every_s > 0 && files.state == RunState::Running) {
    std::printf("%s\n", out.c_str());  // printed first: the loop lasts as long as the run
    std::fflush(stdout);
    while (files.state == RunState::Running) {
      std::this_thread::sleep_for(std::chrono::seconds(options.every_s));
      files = read_run_files(options.directory);
      replace_file(out, run_page(files, options.every_s));
    }
    return "";
  }
  return out + "\n";
}

const CommandForm& report_form() {
  static const CommandForm form{
      .name = "report",
      .operand = "RUNDIR",
      .summary = "a run as a page: curves, timeline, memory, where the time went",
      .about =
          R"(Writes a page about a run: loss, gradient norm, learning rate, throughput and step time over all
attempts; the recorded steps, measured over predicted; where the time went; memory by rank and
purpose; attempts and restarts; the effective run file. One file of HTML that needs no network and
no other file. The run may still be going on: the page shows what it has written so far, and with
--every it follows.
)",
      .closing =
          "Exit codes: 0 done; 2 no run directory; 3 the page cannot be written; 5 a file of the "
          "run is\ndamaged.\n",
      .takes_keys = false,
      .options = unread(report_options_into)};
  return form;
}

}  // namespace penstock
