// runtime/data/parts/no_characters.cpp -- stands for jinja/characters.cpp in a build without ICU:
// ASCII is known to everybody.
#include "runtime/data/jinja/characters.h"
#include "runtime/data/parts/part.h"

namespace penstock::jinja {
namespace {

[[noreturn]] void fail_beyond_ascii() {
  fail_without(kIcu, "a chat template that changes or names letters beyond ASCII");
}

char ascii_in_case(char c, bool upper) {
  if (upper && c >= 'a' && c <= 'z') return static_cast<char>(c - 'a' + 'A');
  if (!upper && c >= 'A' && c <= 'Z') return static_cast<char>(c - 'A' + 'a');
  return c;
}

}  // namespace

std::string in_case(std::string_view text, Case wanted) {
  if (!only_ascii(text)) fail_beyond_ascii();
  std::string written(text);
  for (size_t i = 0; i < written.size(); ++i) {
    const bool upper = wanted == Case::Upper || (wanted == Case::Capital && i == 0);
    written[i] = ascii_in_case(written[i], upper);
  }
  return written;
}

bool printable(char32_t c) {
  if (c >= 0x80) fail_beyond_ascii();
  return c >= 0x20 && c < 0x7F;
}

std::optional<char32_t> named_character(const std::string& /*name*/) {
  fail_beyond_ascii();
}

}  // namespace penstock::jinja
