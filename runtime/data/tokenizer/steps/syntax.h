// runtime/data/tokenizer/steps/syntax.h -- expressions of tokenizers as PCRE2 is to read them.
#pragma once

#include <string>

namespace penstock {

// The same expression for PCRE2 (with UTF and UCP). Literals, groups, look-around, classes without
// classes inside, `.`, \p{general category or script}, \s, \w, \d, \r, \n, \t and quantifiers are
// let through. Throws Error(Input) naming `where` and what else there is, which the two libraries
// may read differently.
[[nodiscard]] std::string pcre2_form(const std::string& pattern, const std::string& where);

}  // namespace penstock
