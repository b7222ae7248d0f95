// runtime/data/tokenizer/steps/syntax.h -- pcre2_form(): translates a regular expression of a
// tokenizer.json, which is written for the library Oniguruma, for the library PCRE2.
#pragma once

#include <string>

namespace penstock {

// Returns `pattern` in the form that PCRE2, with its options UTF and UCP, reads as Oniguruma reads
// `pattern`. Supported are literals, groups, look-around, character classes without classes inside,
// `.`, \p{general category or script}, \s, \w, \d, \r, \n, \t and quantifiers. Throws Error(Input)
// naming the file `where` and the part for anything else, which the two libraries may read
// differently.
[[nodiscard]] std::string pcre2_form(const std::string& pattern, const std::string& where);

}  // namespace penstock
