#include "runtime/data/words/normal_form.h"

#include <unicode/bytestream.h>
#include <unicode/normalizer2.h>

#include <algorithm>
#include <cstdint>
#include <limits>

#include "kernels/error.h"

namespace penstock {

std::string_view composed_form(std::string_view text, std::string& storage) {
  const bool ascii = std::ranges::all_of(text, [](char c) { return static_cast<int8_t>(c) >= 0; });
  if (ascii) return text;
  if (text.size() > std::numeric_limits<int32_t>::max() / 4) {
    fail_input("a text of " + std::to_string(text.size()) +
               " bytes cannot be normalised at once: divide it into lines");
  }
  UErrorCode status = U_ZERO_ERROR;
  const icu::Normalizer2* const form = icu::Normalizer2::getNFCInstance(status);
  const icu::StringPiece piece(text.data(), static_cast<int32_t>(text.size()));
  if (U_SUCCESS(status) && form->isNormalizedUTF8(piece, status) != 0) return text;
  storage.clear();
  icu::StringByteSink<std::string> sink(&storage);
  if (U_SUCCESS(status)) form->normalizeUTF8(0, piece, sink, nullptr, status);
  if (U_FAILURE(status)) fail_resource(std::string("ICU cannot normalise: ") + u_errorName(status));
  return storage;
}

}  // namespace penstock
