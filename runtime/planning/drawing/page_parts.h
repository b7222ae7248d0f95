// runtime/planning/drawing/page_parts.h -- the files of page/ as text; cmake/PenstockPage.cmake
// writes the definitions. Private to this room.
#pragma once

#include <string_view>

namespace penstock {

extern const std::string_view kPageFrame;   // HTML with {{style}} {{data}} {{script}}
extern const std::string_view kPageStyle;   // CSS
extern const std::string_view kPageScript;  // JavaScript

}  // namespace penstock
