// runtime/data/parts/no_normal_form.cpp -- stands for words/normal_form.cpp in a build without ICU.
#include "runtime/data/parts/part.h"
#include "runtime/data/words/normal_form.h"

namespace penstock {

std::string_view composed_form(std::string_view /*text*/, std::string& /*storage*/) {
  fail_without(kIcu, "a tokenizer with the normalizer NFC");
}

}  // namespace penstock
