#include "launch/program/commands/report_command.h"

#include <fmt/format.h>

#include "kernels/error.h"
#include "runtime/run_page/run_page.h"
#include "runtime/telemetry/output_file.h"

namespace penstock {
namespace {

struct ReportOptions {
  std::string directory;
  std::string out;  // empty: report.html in the directory
};

ReportOptions report_options(const std::vector<std::string>& arguments) {
  constexpr std::string_view kOut = "--out=";
  ReportOptions options;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const std::string& argument = arguments[i];
    if (argument == "--out") {
      if (++i == arguments.size()) fail_input("report: --out needs a file");
      options.out = arguments[i];
    } else if (argument.starts_with(kOut)) {
      options.out = argument.substr(kOut.size());
    } else if (argument.starts_with("-")) {
      fail_input("report: unknown option '" + argument + "'; see penstock report --help");
    } else if (!options.directory.empty()) {
      fail_input("report: one run directory at a time, not " + argument + " as well");
    } else {
      options.directory = argument;
    }
  }
  if (options.directory.empty()) {
    fail_input("report: say which run directory; see penstock report --help");
  }
  return options;
}

}  // namespace

std::string report_text(const std::vector<std::string>& arguments) {
  const ReportOptions options = report_options(arguments);
  const std::string out = options.out.empty() ? options.directory + "/report.html" : options.out;
  replace_file(out, run_page(read_run_files(options.directory)));
  return out + "\n";
}

std::string report_help() {
  return R"(usage: penstock report RUNDIR [--out FILE]

Writes a page about a run: loss, gradient norm, learning rate, throughput and step time over all
attempts; the recorded steps, measured over predicted; where the time went; memory by rank and
purpose; attempts and restarts; the effective run file. One file of HTML that needs no network and
no other file. The run may still be going on: the page shows what it has written so far.

  --out FILE   where the page is written to [RUNDIR/report.html]

Exit codes: 0 done; 2 no run directory; 3 the page cannot be written; 5 a file of the run is damaged.
)";
}

}  // namespace penstock
