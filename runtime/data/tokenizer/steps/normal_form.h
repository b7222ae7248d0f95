// runtime/data/tokenizer/steps/normal_form.h -- Unicode's normal forms, lower case, and texts
// without combining marks, by ICU, with the tables of Unicode 9 where the `tokenizers` package uses
// those. Every `text` must be valid UTF-8, and so is what comes back.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace penstock {

enum class NormalForm : uint8_t { C, D, KC, KD };  // NFC, NFD, NFKC, NFKD

// The text in that form: `text` itself where it has the form already, else `storage`.
[[nodiscard]] std::string_view normal_form(std::string_view text, NormalForm form,
                                           std::string& storage);

// Each character by itself, whatever stands beside it: a final sigma becomes like any other.
[[nodiscard]] std::string lower_case(std::string_view text);

// The text without combining marks; composed characters such as U+00E9 stay as they are.
[[nodiscard]] std::string without_marks(std::string_view text);

// The library and its version, which decide which characters are known; empty: a build without ICU.
[[nodiscard]] std::string normal_form_library();

}  // namespace penstock
