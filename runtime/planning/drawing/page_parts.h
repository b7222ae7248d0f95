// runtime/planning/drawing/page_parts.h -- the HTML, CSS and JavaScript files of the folder page/
// as strings inside the program, so that the program needs no files beside it.
//
// cmake/PenstockPage.cmake generates the .cpp file with their values at build time. Only page.cpp
// uses them.
#pragma once

#include <string_view>

namespace penstock {

// The HTML, in which page() replaces {{style}}, {{data}} and {{script}}.
extern const std::string_view kPageFrame;
extern const std::string_view kPageStyle;   // CSS
extern const std::string_view kPageScript;  // JavaScript

}  // namespace penstock
