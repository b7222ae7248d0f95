// runtime/records/report/report.cpp -- fills the frame page/report.html with the page's sections,
// its data and its script.
#include "runtime/records/report/report.h"

#include <fmt/format.h>

#include <array>
#include <string_view>
#include <utility>

#include "runtime/records/report/html.h"
#include "runtime/records/report/page_bars.h"
#include "runtime/records/report/page_data.h"
#include "runtime/records/report/page_head.h"
#include "runtime/records/report/page_parts.h"

namespace penstock {
namespace {

std::string curves_section(const RunFiles& files) {
  if (files.history.steps.empty()) {
    return "<section id=\"curves\"><h2>Curves</h2><p class=\"none\">No step has been taken "
           "yet.</p></section>\n";
  }
  return "<section id=\"curves\"><h2>Curves</h2><div class=\"charts\"></div><p class=\"small\" "
         "id=\"curves-note\"></p></section>\n";
}

std::string timeline_section(const RunFiles& files, const RunFacts& facts) {
  std::string text = "<section id=\"timeline\"><h2>Recorded steps</h2>\n";
  text += older_attempt_note(facts.summary_attempt, files.attempts);
  if (!files.trace_note.empty()) {
    return text + "<p class=\"none\">" + escaped_html(files.trace_note) + "</p></section>\n";
  }
  if (files.trace.empty()) {
    return text +
           "<p class=\"none\">None: trace.json is written when an attempt ends, and where "
           "run.trace is above 0.</p></section>\n";
  }
  return text +
         "<p>Each rank has two rows: what was measured, and below it what was predicted, on one "
         "scale. The numbers are micro-batches.</p>\n"
         "<p><label>Step <select id=\"step\"></select></label></p>\n"
         "<dl id=\"timeline-figures\"></dl>\n<div class=\"scroll\"><div class=\"wide\">"
         "<svg id=\"trace\" role=\"img\" aria-label=\"Timeline of the step, measured over "
         "predicted\"></svg></div></div>\n"
         "<p class=\"small\" id=\"under\">&#160;</p>\n<ul class=\"legend\" "
         "id=\"timeline-legend\"></ul>\n<p class=\"small\" id=\"timeline-note\"></p></section>\n";
}

}  // namespace

std::string run_page(const RunFiles& files, int64_t reload_s) {
  const RunFacts facts = facts_of(files);
  const std::string title = escaped_html(headline(facts));
  const std::string body = head_section(files, facts) + curves_section(files) +
                           timeline_section(files, facts) + time_section(files, facts) +
                           memory_section(files, facts) + ranks_section(files, facts) +
                           attempts_section(files) + files_section(files);
  const std::string data = json_for_script(page_data_json(files, facts));
  const bool reloads = reload_s > 0 && files.state == RunState::Running;
  const std::string refresh =
      reloads ? fmt::format("<meta http-equiv=\"refresh\" content=\"{}\">", reload_s) : "";
  const std::array<std::pair<std::string_view, std::string_view>, 6> places = {{
      {"{{refresh}}", refresh},
      {"{{title}}", title},
      {"{{style}}", kReportStyle},
      {"{{body}}", body},
      {"{{data}}", data},
      {"{{script}}", kReportScript},
  }};
  std::string out;
  std::string_view rest = kReportFrame;
  for (const auto& [mark, part] : places) {  // in the order in which the frame has the marks
    const size_t at = rest.find(mark);
    out.append(rest.substr(0, at)).append(part);
    rest.remove_prefix(at + mark.size());
  }
  return out.append(rest);
}

}  // namespace penstock
