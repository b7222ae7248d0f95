#include "runtime/data/tokenizer/steps/normal_form.h"

#include <unicode/bytestream.h>
#include <unicode/normalizer2.h>
#include <unicode/uchar.h>
#include <unicode/uniset.h>
#include <unicode/uversion.h>

#include <algorithm>
#include <array>
#include <limits>

#include "kernels/error.h"
#include "runtime/data/tokenizer/utf8.h"

namespace penstock {
namespace {

[[noreturn]] void fail_without_data() {
  fail_resource("ICU has no data to normalise texts by: install libicu");
}

const icu::Normalizer2* table_of(NormalForm form, UErrorCode& status) {
  switch (form) {
    case NormalForm::C:
      return icu::Normalizer2::getNFCInstance(status);
    case NormalForm::D:
      return icu::Normalizer2::getNFDInstance(status);
    case NormalForm::KC:
      return icu::Normalizer2::getNFKCInstance(status);
    case NormalForm::KD:
      return icu::Normalizer2::getNFKDInstance(status);
  }
  fail_internal("no such normal form");
}

// Returns the set of characters that an ICU pattern describes. The patterns here are limited to the
// characters of Unicode 9 (age=9.0), because the package `tokenizers` has the tables of that
// version and leaves later characters as they are.
icu::UnicodeSet frozen_set(const char* pattern) {
  UErrorCode status = U_ZERO_ERROR;
  icu::UnicodeSet set(pattern, status);
  if (U_FAILURE(status)) fail_without_data();
  set.freeze();
  return set;
}

class FormOfUnicode9 {
 public:
  explicit FormOfUnicode9(NormalForm form)
      : known_(frozen_set("[:age=9.0:]")), form_(table(form), known_) {}
  [[nodiscard]] const icu::Normalizer2& get() const { return form_; }

 private:
  static const icu::Normalizer2& table(NormalForm form) {
    UErrorCode status = U_ZERO_ERROR;
    const icu::Normalizer2* const found = table_of(form, status);
    if (U_FAILURE(status) || found == nullptr) fail_without_data();
    return *found;
  }

  icu::UnicodeSet known_;
  icu::FilteredNormalizer2 form_;
};

const icu::Normalizer2& tables(NormalForm form) {
  static const FormOfUnicode9 kC(NormalForm::C), kD(NormalForm::D), kKC(NormalForm::KC),
      kKD(NormalForm::KD);
  switch (form) {
    case NormalForm::C:
      return kC.get();
    case NormalForm::D:
      return kD.get();
    case NormalForm::KC:
      return kKC.get();
    case NormalForm::KD:
      return kKD.get();
  }
  fail_internal("no such normal form");
}

bool is_ascii(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return static_cast<int8_t>(c) >= 0; });
}

}  // namespace

std::string_view normal_form(std::string_view text, NormalForm form, std::string& storage) {
  if (is_ascii(text)) return text;
  if (text.size() > std::numeric_limits<int32_t>::max() / 4) {
    fail_input("a text of " + std::to_string(text.size()) +
               " bytes cannot be normalised at once: divide it into lines");
  }
  const icu::Normalizer2& table = tables(form);
  UErrorCode status = U_ZERO_ERROR;
  const icu::StringPiece piece(text.data(), static_cast<int32_t>(text.size()));
  if (table.isNormalizedUTF8(piece, status) != 0 && U_SUCCESS(status)) return text;
  std::string normal;  // not in `storage`, because `text` can lie there
  icu::StringByteSink<std::string> sink(&normal);
  if (U_SUCCESS(status)) table.normalizeUTF8(0, piece, sink, nullptr, status);
  if (U_FAILURE(status)) fail_resource(std::string("ICU cannot normalise: ") + u_errorName(status));
  storage = std::move(normal);
  return storage;
}

std::string lower_case(std::string_view text) {
  constexpr char32_t kDottedI = 0x130;  // the one character whose lower case is two characters
  std::string lower;
  lower.reserve(text.size());
  for (size_t at = 0; at < text.size();) {
    const Utf8Character character = utf8_at(text, at);
    at += character.bytes;
    if (character.code == kDottedI) {
      lower += "i\xCC\x87";
    } else {
      append_utf8(lower, static_cast<char32_t>(u_tolower(static_cast<UChar32>(character.code))));
    }
  }
  return lower;
}

std::string without_marks(std::string_view text) {
  // Three characters are treated as Unicode 9 did: U+1CF2 and U+1CF3 were marks then and are
  // letters now, and U+111C9 was punctuation then and is a mark now.
  static const icu::UnicodeSet kMarks =
      frozen_set("[[[[:M:]&[:age=9.0:]][\\u1CF2\\u1CF3]]-[\\U000111C9]]");
  std::string bare;
  for (size_t at = 0; at < text.size();) {
    const Utf8Character character = utf8_at(text, at);
    const bool mark = kMarks.contains(static_cast<UChar32>(character.code)) != 0;
    if (!mark) bare += text.substr(at, character.bytes);
    at += character.bytes;
  }
  return bare;
}

std::string normal_form_library() {
  UVersionInfo version;
  std::array<char, U_MAX_VERSION_STRING_LENGTH> text{};
  u_getVersion(version);
  u_versionToString(version, text.data());
  return std::string("ICU ") + text.data();
}

}  // namespace penstock
