#include "runtime/data/templates/values/characters.h"

#include <unicode/bytestream.h>
#include <unicode/casemap.h>
#include <unicode/uchar.h>

#include <limits>

#include "kernels/error.h"

namespace penstock::jinja {

std::string in_case(std::string_view text, Case wanted) {
  constexpr uint32_t kWholeText = U_TITLECASE_WHOLE_STRING | U_TITLECASE_NO_BREAK_ADJUSTMENT;
  if (text.size() > std::numeric_limits<int32_t>::max() / 4) fail_internal("a text of a template");
  std::string written;
  icu::StringByteSink<std::string> sink(&written);
  const icu::StringPiece piece(text.data(), static_cast<int32_t>(text.size()));
  UErrorCode status = U_ZERO_ERROR;
  switch (wanted) {
    case Case::Upper:
      icu::CaseMap::utf8ToUpper("", 0, piece, sink, nullptr, status);
      break;
    case Case::Lower:
      icu::CaseMap::utf8ToLower("", 0, piece, sink, nullptr, status);
      break;
    case Case::Capital:
      icu::CaseMap::utf8ToTitle("", kWholeText, nullptr, piece, sink, nullptr, status);
      break;
  }
  if (U_FAILURE(status)) fail_resource(std::string("ICU cannot write: ") + u_errorName(status));
  return written;
}

bool printable(char32_t c) {
  if (c < 0x80) return c >= 0x20 && c < 0x7F;
  constexpr uint32_t kHidden = U_GC_C_MASK | U_GC_Z_MASK;
  return (U_GET_GC_MASK(static_cast<UChar32>(c)) & kHidden) == 0;
}

std::optional<char32_t> named_character(const std::string& name) {
  for (const UCharNameChoice choice : {U_UNICODE_CHAR_NAME, U_CHAR_NAME_ALIAS}) {
    UErrorCode status = U_ZERO_ERROR;
    const UChar32 found = u_charFromName(choice, name.c_str(), &status);
    if (U_SUCCESS(status)) return static_cast<char32_t>(found);
  }
  return std::nullopt;
}

}  // namespace penstock::jinja
