// runtime/records/report/page_parts.h -- the files of the folder page/ as texts of the program;
// cmake/PenstockPage.cmake writes their definitions. Private to this room.
#pragma once

#include <string_view>

namespace penstock {

extern const std::string_view
    kReportFrame;  // HTML with {{refresh}} {{title}} {{style}} {{body}} {{data}} ...
extern const std::string_view kReportStyle;   // CSS
extern const std::string_view kReportScript;  // JavaScript

}  // namespace penstock
