// runtime/data/tokenizer/steps/normal_form.h -- characters in one of several forms: Unicode's
// normal forms, lower case, letters without their marks. ICU does it, by the tables of Unicode 9
// where the `tokenizers` package has those. All of `text` is valid UTF-8, and so is what comes
// back.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace penstock {

enum class NormalForm : uint8_t { C, D, KC, KD };  // NFC, NFD, NFKC, NFKD

// What is in that form already is returned as it is, else `storage`.
[[nodiscard]] std::string_view normal_form(std::string_view text, NormalForm form,
                                           std::string& storage);

// Each character by itself, whatever stands beside it: a final sigma is no other than any.
[[nodiscard]] std::string lower_case(std::string_view text);

// The text without combining marks; characters that are composed with one keep it.
[[nodiscard]] std::string without_marks(std::string_view text);

// The library and its version, which says the characters it knows. Empty: a build without it.
[[nodiscard]] std::string normal_form_library();

}  // namespace penstock
