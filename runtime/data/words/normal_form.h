// runtime/data/words/normal_form.h -- Unicode's normal form C: characters composed where they can
// be. ICU does it, by the tables of Unicode 9, which the `tokenizers` package has.
#pragma once

#include <string>
#include <string_view>

namespace penstock {

// `text` is valid UTF-8. What is in that form already is returned as it is, else `storage`.
[[nodiscard]] std::string_view composed_form(std::string_view text, std::string& storage);

}  // namespace penstock
