#include "runtime/records/sweep/tables/page.h"

#include <fmt/format.h>

#include "runtime/records/report/html.h"
#include "runtime/records/sweep/tables/table.h"

namespace penstock {
namespace {

constexpr const char* kPageHead = R"(<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Sweep</title>
<style>
:root { color-scheme: light dark; }
body { font: 15px system-ui, sans-serif; margin: 1.5em; }
.plots { display: flex; flex-wrap: wrap; gap: 1em; }
.plots svg { width: 480px; max-width: 100%; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; }
th, td { text-align: left; padding: .3em .8em .3em 0; white-space: nowrap; border-bottom: 1px solid #8884; }
pre { white-space: pre-wrap; font: inherit; }
</style></head><body>
)";

// The name of the point, with a link to each of its runs that has a page.
std::string linked_name(const ScalingRow& row, const std::set<std::string>& pages) {
  std::string text = escaped_html(row.point.name);
  for (size_t i = 0; i < row.runs.size(); ++i) {
    const std::string run = run_name(row.point, static_cast<int>(i) + 1);
    if (!pages.contains(run)) continue;
    const std::string shown = row.runs.size() == 1 ? "report" : fmt::format("run {}", i + 1);
    text += fmt::format(" <a href=\"points/{}/report.html\">{}</a>", escaped_html(run), shown);
  }
  return text;
}

}  // namespace

std::string sweep_page(const std::vector<ScalingRow>& rows, const std::string& about,
                       const std::vector<std::string>& plots, const std::set<std::string>& pages) {
  std::string page = std::string(kPageHead) + "<h1>Sweep: " + escaped_html(about) +
                     "</h1>\n<div class=\"plots\">\n";
  for (const std::string& plot : plots) page += plot;
  page += "</div>\n<div class=\"wide\"><table>\n";
  const TableCells cells = table_cells(rows);
  for (size_t i = 0; i < cells.size(); ++i) {
    const char* tag = i == 0 ? "th" : "td";
    page += "<tr>";
    for (size_t column = 0; column < cells[i].size(); ++column) {
      const bool is_name = i > 0 && column == 0;
      page +=
          fmt::format("<{0}>{1}</{0}>", tag,
                      is_name ? linked_name(rows[i - 1], pages) : escaped_html(cells[i][column]));
    }
    page += "</tr>\n";
  }
  return page + "</table></div>\n<pre>" + escaped_html(table_remarks(rows)) +
         "</pre>\n</body></html>\n";
}

}  // namespace penstock
