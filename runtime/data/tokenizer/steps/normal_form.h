// runtime/data/tokenizer/steps/normal_form.h -- what tokenizers do to the characters of a text
// before they cut it: Unicode's normal forms, lower case, removing combining marks; by the library
// ICU.
//
// Results are those of the package `tokenizers`, which knows the characters of Unicode 9: normal
// forms and marks leave characters that came later as they are. Every `text` must be valid UTF-8,
// and so is every result.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace penstock {

enum class NormalForm : uint8_t { C, D, KC, KD };  // NFC, NFD, NFKC, NFKD

// The text in that form: returns `text` itself if it has the form already; else overwrites
// `storage` and returns that. `text` may lie in `storage`. Throws Error(Input) for a text of more
// than 512 MiB, Error(Resource) where ICU's data are missing.
[[nodiscard]] std::string_view normal_form(std::string_view text, NormalForm form,
                                           std::string& storage);

// The text in lower case, character by character, whatever stands beside each: a capital sigma at
// the end of a word becomes the usual small one.
[[nodiscard]] std::string lower_case(std::string_view text);

// The text without its combining marks. Characters that include a mark, such as U+00E9, stay as
// they are.
[[nodiscard]] std::string without_marks(std::string_view text);

// The name and version of the library, on which it depends which characters are known; empty in a
// build without ICU.
[[nodiscard]] std::string normal_form_library();

}  // namespace penstock
