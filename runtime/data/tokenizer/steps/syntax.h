// runtime/data/tokenizer/steps/syntax.h -- translates the regular expressions of tokenizers for
// PCRE2.
#pragma once

#include <string>

namespace penstock {

// `pattern`, written for Oniguruma, as PCRE2 (with UTF and UCP) must have it. Literals, groups,
// look-around, classes without classes inside, `.`, \p{general category or script}, \s, \w, \d, \r,
// \n, \t and quantifiers are let through. Throws Error(Input) naming `where` and the part for
// anything else, which the two libraries may read differently.
[[nodiscard]] std::string pcre2_form(const std::string& pattern, const std::string& where);

}  // namespace penstock
