// runtime/records/report/page_parts.h -- the HTML frame, CSS and JavaScript of report.html (the
// files in page/) as strings inside the program, so that the program needs no files beside it.
//
// cmake/PenstockPage.cmake generates the .cpp file with their values at build time. Only report.cpp
// uses them.
#pragma once

#include <string_view>

namespace penstock {

// The HTML, in which run_page() replaces {{refresh}}, {{title}}, {{style}}, {{body}}, {{data}}, ...
extern const std::string_view kReportFrame;
extern const std::string_view kReportStyle;   // CSS
extern const std::string_view kReportScript;  // JavaScript

}  // namespace penstock
