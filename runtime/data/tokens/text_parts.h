// runtime/data/tokens/text_parts.h -- a text in parts whose tokens are those of the whole.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace penstock {

// Part after part, of `least_bytes` or more but for the last, each ending where byte-level
// vocabularies cut anyway: behind a newline between a visible character and a letter of ASCII.
// Throws as read_pieces_of_file() does, and Error(Input) where there is no such place within
// `most_bytes`.
void for_each_text_part(const std::string& path,
                        const std::function<void(std::string_view part)>& take,
                        int64_t unpack_limit, size_t least_bytes = size_t{1} << 20,
                        size_t most_bytes = size_t{256} << 20);

}  // namespace penstock
