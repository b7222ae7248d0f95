// runtime/system/files/stand_in.h -- recognises files that are not what their name says, since a
// download went wrong: a pointer of git-lfs (a few lines of text in place of a large file), or a
// web page with an error; or that are texts in UTF-16 or UTF-32.
//
// InputFile looks for pointers in every file that a user names. A text file may well be a web page,
// so only readers of binary formats look for pages as well.
#pragma once

#include <string>
#include <string_view>

namespace penstock {

// The number of bytes at the beginning of a file that are enough to recognise one.
inline constexpr size_t kStandInBytes = 64;

// `beginning`: the first kStandInBytes bytes of the file `path`, or all of a shorter one.
// refuse_pointer() looks for pointers of git-lfs, refuse_stand_in() for web pages as well. Each
// throws Error(Data) when it finds one, saying what the file is and what to do.
void refuse_pointer(std::string_view beginning, const std::string& path);
void refuse_stand_in(std::string_view beginning, const std::string& path);

// Throws Error(Data) if `beginning` has the byte order mark of UTF-16 or UTF-32; `where` names the
// file, or a place in it.
void refuse_wide_text(std::string_view beginning, const std::string& where);

}  // namespace penstock
