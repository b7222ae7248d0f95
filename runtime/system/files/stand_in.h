// runtime/system/files/stand_in.h -- refuses stand-ins for a file that a download did not fetch: a
// pointer of git-lfs, or a web page that says why.
//
// InputFile looks for pointers in every file that a user names. A web page may be somebody's text,
// so only readers of formats in which no page can be valid look for pages.
#pragma once

#include <string>
#include <string_view>

namespace penstock {

// The number of bytes of a file that are enough to recognise a stand-in.
inline constexpr size_t kStandInBytes = 64;

// `beginning`: the first kStandInBytes of the file `path`, or all of a shorter one.
// refuse_pointer() refuses pointers of git-lfs alone, refuse_stand_in() web pages as well. Throw
// Error(Data) naming the file, what it is instead, and what to do.
void refuse_pointer(std::string_view beginning, const std::string& path);
void refuse_stand_in(std::string_view beginning, const std::string& path);

}  // namespace penstock
