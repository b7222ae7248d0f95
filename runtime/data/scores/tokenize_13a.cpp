// The tokens of mteval-v13a: symbols stand alone, and so do points and commas that are in no
// number. Four passes, each as a regular expression that goes on behind its last match would make
// them; bytes do for characters, since all that matter are ASCII.
#include <array>
#include <boost/algorithm/string/replace.hpp>
#include <cstdint>

#include "runtime/data/scores/bleu.h"

namespace penstock {
namespace {

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
bool is_stop(char c) {
  return c == '.' || c == ',';
}
bool is_symbol(char c) {
  const auto in = [c](char first, char last) { return c >= first && c <= last; };
  return in('{', '~') || in('[', '`') || in(' ', '&') || in('(', '+') || in(':', '@') || c == '/';
}

std::string symbols_alone(std::string_view in) {
  std::string out;
  for (const char c : in) {
    if (is_symbol(c)) {
      out += ' ';
      out += c;
      out += ' ';
    } else {
      out += c;
    }
  }
  return out;
}

// Describes how matching pairs are spaced. A pair of neighbouring characters for which `match`
// holds is written as before + first + between + second + after. Pairs are found from left to right
// and do not overlap.
struct Spacing {
  bool (*match)(char first, char second);
  const char* before;
  const char* between;
  const char* after;
};

std::string space_pairs(std::string_view in, const Spacing& spacing) {
  std::string out;
  size_t i = 0;
  while (i < in.size()) {
    if (i + 1 < in.size() && spacing.match(in[i], in[i + 1])) {
      out += spacing.before;
      out += in[i];
      out += spacing.between;
      out += in[i + 1];
      out += spacing.after;
      i += 2;
    } else {
      out += in[i];
      ++i;
    }
  }
  return out;
}

// Returns how many bytes the white-space character at the start of `text` has, or 0 if `text`
// starts with another character. White space is what Python's str.split() takes for it.
size_t space_bytes(std::string_view text) {
  const auto c = static_cast<uint8_t>(text[0]);
  if (c == ' ' || (c >= 0x09 && c <= 0x0D) || (c >= 0x1C && c <= 0x1F)) return 1;
  const auto starts = [text](std::string_view bytes) { return text.starts_with(bytes); };
  if (starts("\xC2\x85") || starts("\xC2\xA0")) return 2;
  for (const std::string_view space : {"\xE1\x9A\x80", "\xE2\x80\xA8", "\xE2\x80\xA9",
                                       "\xE2\x80\xAF", "\xE2\x81\x9F", "\xE3\x80\x80"}) {
    if (starts(space)) return 3;
  }
  if (starts("\xE2\x80") && text.size() > 2 && static_cast<uint8_t>(text[2]) >= 0x80 &&
      static_cast<uint8_t>(text[2]) <= 0x8A) {
    return 3;  // U+2000 to U+200A
  }
  return 0;
}

std::string single_spaces(std::string_view in) {
  std::string out;
  bool between = false;
  while (!in.empty()) {
    const size_t space = space_bytes(in);
    if (space > 0) {
      between = !out.empty();
    } else {
      if (between) out += ' ';
      between = false;
      out += in[0];
    }
    in.remove_prefix(space > 0 ? space : 1);
  }
  return out;
}

std::string without_trailing_space(std::string_view line) {
  size_t end = 0;  // behind the last character that is no white space
  for (size_t i = 0; i < line.size();) {
    const size_t space = space_bytes(line.substr(i));
    i += space > 0 ? space : 1;
    if (space == 0) end = i;
  }
  return std::string(line.substr(0, end));
}

}  // namespace

std::string tokenize_13a(std::string_view line) {
  std::string text = without_trailing_space(line);
  boost::replace_all(text, "<skipped>", "");
  boost::replace_all(text, "-\n", "");
  boost::replace_all(text, "\n", " ");
  boost::replace_all(text, "&quot;", "\"");
  boost::replace_all(text, "&amp;", "&");
  boost::replace_all(text, "&lt;", "<");
  boost::replace_all(text, "&gt;", ">");
  text = symbols_alone(" " + text + " ");
  static constexpr std::array<Spacing, 3> passes = {
      {{[](char a, char b) { return !is_digit(a) && is_stop(b); }, "", " ", " "},
       {[](char a, char b) { return is_stop(a) && !is_digit(b); }, " ", " ", ""},
       {[](char a, char b) { return is_digit(a) && b == '-'; }, "", " ", " "}}};
  for (const Spacing& pass : passes) text = space_pairs(text, pass);
  return single_spaces(text);
}

}  // namespace penstock
