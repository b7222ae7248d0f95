// runtime/data/tokens/foreign_file.h -- refuse_foreign_file(): recognises files that are given as
// texts and are tables, archives, weights or UTF-16, by their first bytes.
//
// Texts may be any bytes (data.tokenizer = "characters" reads them as they are), so nothing else is
// refused.
#pragma once

#include <string>
#include <string_view>

namespace penstock {

// The number of bytes at the beginning of a file that are enough to recognise one.
inline constexpr size_t kForeignBytes = 512;

// `beginning`: the first kForeignBytes bytes of the text, unpacked, or all of a shorter one. Throws
// Error(Data) naming the file, what it is, and what to do.
void refuse_foreign_file(std::string_view beginning, const std::string& path);

}  // namespace penstock
