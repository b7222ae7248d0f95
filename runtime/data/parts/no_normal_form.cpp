// runtime/data/parts/no_normal_form.cpp -- stands for words/normal_form.cpp in a build without ICU.
#include "runtime/data/parts/part.h"
#include "runtime/data/words/normal_form.h"

namespace penstock {

std::string_view normal_form(std::string_view /*text*/, NormalForm /*form*/,
                             std::string& /*storage*/) {
  fail_without(kIcu, "a tokenizer with the normalizers NFC, NFD, NFKC and NFKD");
}

std::string lower_case(std::string_view /*text*/) {
  fail_without(kIcu, "a tokenizer with the normalizer Lowercase");
}

std::string without_marks(std::string_view /*text*/) {
  fail_without(kIcu, "a tokenizer with the normalizer StripAccents");
}

std::string normal_form_library() {
  return {};
}

}  // namespace penstock
