#include "runtime/data/words/normal_form.h"

#include <unicode/bytestream.h>
#include <unicode/normalizer2.h>
#include <unicode/uniset.h>

#include <algorithm>
#include <cstdint>
#include <limits>

#include "kernels/error.h"

namespace penstock {
namespace {

// The package composes by the tables of Unicode 9: marks that came later stand where they stand.
class FormOfUnicode9 {
 public:
  FormOfUnicode9()
      : known_(icu::UnicodeString("[:age=9.0:]"), status_),
        form_(*icu::Normalizer2::getNFCInstance(status_), known_) {
    known_.freeze();
  }
  // Null where ICU lacks its data.
  [[nodiscard]] const icu::Normalizer2* get() const {
    return U_SUCCESS(status_) ? &form_ : nullptr;
  }

 private:
  UErrorCode status_ = U_ZERO_ERROR;
  icu::UnicodeSet known_;
  icu::FilteredNormalizer2 form_;
};

}  // namespace

std::string_view composed_form(std::string_view text, std::string& storage) {
  const bool ascii = std::ranges::all_of(text, [](char c) { return static_cast<int8_t>(c) >= 0; });
  if (ascii) return text;
  if (text.size() > std::numeric_limits<int32_t>::max() / 4) {
    fail_input("a text of " + std::to_string(text.size()) +
               " bytes cannot be normalised at once: divide it into lines");
  }
  static const FormOfUnicode9 kForm;
  const icu::Normalizer2* const form = kForm.get();
  if (form == nullptr) fail_resource("ICU has no data to normalise texts by: install libicu");
  UErrorCode status = U_ZERO_ERROR;
  const icu::StringPiece piece(text.data(), static_cast<int32_t>(text.size()));
  if (U_SUCCESS(status) && form->isNormalizedUTF8(piece, status) != 0) return text;
  storage.clear();
  icu::StringByteSink<std::string> sink(&storage);
  if (U_SUCCESS(status)) form->normalizeUTF8(0, piece, sink, nullptr, status);
  if (U_FAILURE(status)) fail_resource(std::string("ICU cannot normalise: ") + u_errorName(status));
  return storage;
}

}  // namespace penstock
