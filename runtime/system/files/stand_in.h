// runtime/system/files/stand_in.h -- what lies where a downloaded file should be, when the download
// did not fetch it: a pointer of git-lfs, or a web page that says why.
//
// InputFile looks for pointers in every file that a user names. A page may be somebody's text, so
// who reads a format that no page is in looks for those.
#pragma once

#include <string>
#include <string_view>

namespace penstock {

// So many bytes of a file are enough to tell.
inline constexpr size_t kStandInBytes = 64;

// `beginning`: of the file `path`, as many bytes or all. Throw Error(Data) naming the file, what it
// is instead, and what to do.
void refuse_pointer(std::string_view beginning, const std::string& path);
// Of either kind.
void refuse_stand_in(std::string_view beginning, const std::string& path);

}  // namespace penstock
