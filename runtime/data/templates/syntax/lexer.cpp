#include "runtime/data/templates/syntax/lexer.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "kernels/error.h"
#include "runtime/data/templates/values/characters.h"
#include "runtime/data/tokenizer/utf8.h"

namespace penstock::jinja {
namespace {

constexpr std::array<std::string_view, 24> kSigns = {"**", "//", "==", "!=", "<=", ">=", "(", ")",
                                                     "[",  "]",  "{",  "}",  ".",  ",",  ":", "|",
                                                     "~",  "=",  "<",  ">",  "+",  "-",  "*", "/"};

bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}
bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

// Returns how many bytes of white space `text` begins with.
size_t blanks_before(std::string_view text) {
  size_t at = 0;
  while (at < text.size()) {
    const Utf8Character c = utf8_at(text, at);
    if (!is_python_space(c.code)) break;
    at += c.bytes;
  }
  return at;
}
// Returns `text` without the white space at its end.
std::string_view without_blanks_behind(std::string_view text) {
  size_t kept = 0;
  for (size_t at = 0; at < text.size();) {
    const Utf8Character c = utf8_at(text, at);
    at += c.bytes;
    if (!is_python_space(c.code)) kept = at;
  }
  return text.substr(0, kept);
}

std::string with_plain_newlines(std::string_view text) {
  std::string plain;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\r') {
      plain += text[i];
      continue;
    }
    plain += '\n';
    if (i + 1 < text.size() && text[i + 1] == '\n') ++i;
  }
  if (plain.ends_with('\n')) plain.pop_back();  // Jinja drops one newline at the end
  return plain;
}

class Lexer {
 public:
  Lexer(std::string text, const std::string& where)
      : text_(std::move(text)), rest_(text_), where_(where) {}

  std::vector<Token> run() {
    while (!rest_.empty()) {
      size_t at = rest_.find('{');
      while (at != std::string_view::npos && at + 1 < rest_.size() &&
             std::string_view("{%#").find(rest_[at + 1]) == std::string_view::npos) {
        at = rest_.find('{', at + 1);
      }
      if (at == std::string_view::npos || at + 1 >= rest_.size()) at = rest_.size();
      between(rest_.substr(0, at));
      if (!rest_.empty() && !raw()) tag();
    }
    push(Token::Kind::End, "");
    return std::move(tokens_);
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    fail_data(where_ + ", line " + std::to_string(line()) + ": " + what);
  }
  [[nodiscard]] size_t line() const {
    const size_t read = text_.size() - rest_.size();
    const auto begin = text_.begin();
    line_ += static_cast<size_t>(std::count(begin + static_cast<std::ptrdiff_t>(counted_),
                                            begin + static_cast<std::ptrdiff_t>(read), '\n'));
    counted_ = read;
    return line_;
  }
  void push(Token::Kind kind, std::string text) {
    tokens_.push_back({kind, std::move(text), line()});
  }

  // Adds a token for the text `all`, which lies before the next tag or the end of the template.
  // White space that the next tag removes is left out.
  void between(std::string_view all) {
    std::string_view kept = all;
    const std::string_view tag = rest_.substr(all.size());
    if (tag.size() > 2 && tag[2] == '-') {
      kept = without_blanks_behind(kept);
    } else if (tag.size() > 2 && tag[2] != '+' && tag[1] != '{') {
      const size_t last = kept.rfind('\n');
      const size_t begin = last == std::string_view::npos ? 0 : last + 1;
      const bool line_begins = begin > 0 || line_begins_;
      if (line_begins && without_blanks_behind(kept.substr(begin)).empty()) {
        kept = kept.substr(0, begin);
      }
    }
    if (!kept.empty()) push(Token::Kind::Text, std::string(kept));
    rest_.remove_prefix(all.size());
  }

  // Describes a tag with a given name at the beginning of a text. `bytes` is the length of the tag,
  // and 0 if there is no such tag.
  struct NamedTag {
    size_t bytes = 0;
    char ends_with = ' ';  // the sign before "%}": - or +; a blank if there is none
  };
  static NamedTag named_tag(std::string_view text, std::string_view name) {
    size_t at = 2;
    if (!text.starts_with("{%")) return {};
    if (at < text.size() && (text[at] == '-' || text[at] == '+')) ++at;
    at += blanks_before(text.substr(at));
    if (!text.substr(at).starts_with(name)) return {};
    at += name.size();
    at += blanks_before(text.substr(at));
    NamedTag tag;
    if (at < text.size() && (text[at] == '-' || text[at] == '+')) tag.ends_with = text[at++];
    if (text.substr(at).starts_with("%}")) tag.bytes = at + 2;
    return tag;
  }

  // Adds what stands between {% raw %} and {% endraw %} as a text. Returns false if the next tag is
  // no {% raw %}.
  bool raw() {
    const NamedTag begin = named_tag(rest_, "raw");
    if (begin.bytes == 0 || begin.ends_with == '+') return false;
    rest_.remove_prefix(begin.bytes);
    after(begin.ends_with == '-', false);
    for (size_t at = rest_.find("{%"); at != std::string_view::npos;
         at = rest_.find("{%", at + 2)) {
      const NamedTag end = named_tag(rest_.substr(at), "endraw");
      if (end.bytes == 0) continue;
      between(rest_.substr(0, at));
      rest_.remove_prefix(end.bytes);
      after(end.ends_with == '-', end.ends_with != '+');
      return true;
    }
    fail("{% raw %} has no end");
  }

  void tag() {
    const char form = rest_[1];
    const size_t signed_by = rest_.size() > 2 && (rest_[2] == '-' || rest_[2] == '+') ? 3 : 2;
    if (form == '#') {
      const size_t end = rest_.find("#}", 2);
      if (end == std::string_view::npos) fail("a comment has no end");
      const char sign = end > 2 ? rest_[end - 1] : ' ';
      rest_.remove_prefix(end + 2);
      return after(sign == '-', sign != '+');
    }
    const bool writes = form == '{';
    push(writes ? Token::Kind::WriteBegin : Token::Kind::TagBegin, "");
    rest_.remove_prefix(signed_by);
    const std::string_view end = writes ? "}}" : "%}";
    int open = 0;  // open brackets: inside them "}}" can end mappings
    for (;;) {
      rest_.remove_prefix(blanks_before(rest_));
      if (rest_.empty()) fail("a tag has no end");
      const size_t sign = rest_.front() == '-' || (rest_.front() == '+' && !writes) ? 1 : 0;
      if (open == 0 && rest_.substr(sign).starts_with(end)) {
        const bool trims = rest_.front() == '-';
        const bool keeps = rest_.front() == '+';
        push(writes ? Token::Kind::WriteEnd : Token::Kind::TagEnd, "");
        rest_.remove_prefix(sign + 2);
        return after(trims, !writes && !keeps);
      }
      word(open);
    }
  }

  // Removes white space behind a tag: all of it if `trims`, else one newline if `newline`.
  void after(bool trims, bool newline) {
    size_t n = 0;
    if (trims) {
      n = blanks_before(rest_);
    } else if (newline && rest_.starts_with('\n')) {
      n = 1;
    }
    line_begins_ = n > 0 && rest_[n - 1] == '\n';
    rest_.remove_prefix(n);
  }

  void word(int& open) {
    const char c = rest_.front();
    if (c == '"' || c == '\'') return string(c);
    if (is_digit(c)) return number();
    if (is_letter(c)) {
      size_t n = 1;
      while (n < rest_.size() && (is_digit(rest_[n]) || is_letter(rest_[n]))) ++n;
      push(Token::Kind::Name, std::string(rest_.substr(0, n)));
      rest_.remove_prefix(n);
      return;
    }
    if (c == '%') {
      push(Token::Kind::Sign, "%");
      rest_.remove_prefix(1);
      return;
    }
    for (const std::string_view sign : kSigns) {
      if (!rest_.starts_with(sign)) continue;
      if (sign == "(" || sign == "[" || sign == "{") ++open;
      if (sign == ")" || sign == "]" || sign == "}") open = std::max(0, open - 1);
      push(Token::Kind::Sign, std::string(sign));
      rest_.remove_prefix(sign.size());
      return;
    }
    fail("a character that no expression has");
  }

  // Returns the digits at `at`, and moves `at` behind these. A single _ between two digits is
  // skipped.
  std::string digits(size_t& at, bool (*belongs)(char)) const {
    std::string all;
    for (; at < rest_.size(); ++at) {
      const bool joins = rest_[at] == '_' && at + 1 < rest_.size() && belongs(rest_[at + 1]);
      if (!belongs(rest_[at]) && !joins) break;
      if (rest_[at] != '_') all += rest_[at];
    }
    return all;
  }

  void number() {
    size_t at = 0;
    std::string text;
    Token::Kind kind = Token::Kind::Whole;
    const char base =
        rest_.size() > 1 && rest_[0] == '0' ? static_cast<char>(rest_[1] | 0x20) : ' ';
    if (base == 'x' || base == 'o' || base == 'b') {
      at = 2;
      text = std::string("0") + base + digits(at, [](char c) {
               return is_digit(c) || ((c | 0x20) >= 'a' && (c | 0x20) <= 'f');
             });
    } else {
      text = digits(at, is_digit);
      if (at + 1 < rest_.size() && rest_[at] == '.' && is_digit(rest_[at + 1])) {
        kind = Token::Kind::Real;
        text += '.';
        text += digits(++at, is_digit);
      }
      size_t power = at + 1;
      if (power < rest_.size() && (rest_[power] == '+' || rest_[power] == '-')) ++power;
      const bool has_power = at < rest_.size() && (rest_[at] | 0x20) == 'e' &&
                             power < rest_.size() && is_digit(rest_[power]);
      if (has_power) {
        kind = Token::Kind::Real;
        text += rest_.substr(at, power - at);
        at = power;
        text += digits(at, is_digit);
      }
    }
    if (at < rest_.size() && is_letter(rest_[at])) fail("a number that ends in a letter");
    push(kind, std::move(text));
    rest_.remove_prefix(at);
  }

  void string(char quote) {
    std::string value;
    size_t at = 1;
    for (; at < rest_.size() && rest_[at] != quote; ++at) {
      if (rest_[at] == '\\' && at + 1 < rest_.size()) {
        at += escape(at + 1, value);
      } else {
        value += rest_[at];
      }
    }
    if (at >= rest_.size()) fail("a string has no end");
    push(Token::Kind::String, std::move(value));
    rest_.remove_prefix(at + 1);
  }

  // Reads the escape whose backslash is at `at` - 1, and adds the character that it stands for to
  // `value`. Returns the length of the escape without the backslash.
  size_t escape(size_t at, std::string& value) const {
    constexpr std::string_view kFrom = "ntr\\'\"abfv";
    constexpr std::string_view kTo = "\n\t\r\\'\"\a\b\f\v";
    const char c = rest_[at];
    if (c == '\n') return 1;
    if (const size_t known = kFrom.find(c); known != std::string_view::npos) {
      value += kTo[known];
      return 1;
    }
    if (c == 'N') return named(at, value);
    if (c >= '0' && c <= '7') {
      size_t n = 1;
      while (n < 3 && at + n < rest_.size() && rest_[at + n] >= '0' && rest_[at + n] <= '7') ++n;
      return coded(at, n, 8, value);
    }
    const size_t digits = c == 'x' ? 2 : c == 'u' ? 4 : c == 'U' ? 8 : 0;
    if (digits > 0) return 1 + coded(at + 1, digits, 16, value);
    value += '\\';
    value += c;
    return 1;
  }
  size_t coded(size_t at, size_t digits, int base, std::string& value) const {
    uint32_t code = 0;
    if (at + digits > rest_.size()) fail("an escape that is cut off");
    const char* const first = rest_.data() + at;
    const auto [end, error] = std::from_chars(first, first + digits, code, base);
    const bool scalar = code < 0xD800 || (code >= 0xE000 && code < 0x110000);
    if (error != std::errc() || end != first + digits || !scalar) fail("an escape of no character");
    append_utf8(value, code);
    return digits;
  }
  // Reads the escape of a named character, for example N{BULLET}, and adds the character to
  // `value`. Returns the length of the escape.
  size_t named(size_t at, std::string& value) const {
    const size_t end = rest_.find('}', at);
    if (end == std::string_view::npos || rest_[at + 1] != '{') fail("an escape without a name");
    const auto found = named_character(std::string(rest_.substr(at + 2, end - at - 2)));
    if (!found) fail("an escape whose name no character has");
    append_utf8(value, *found);
    return end + 1 - at;
  }

  std::string text_;
  std::string_view rest_;
  const std::string& where_;
  bool line_begins_ = true;
  mutable size_t counted_ = 0, line_ = 1;  // how far newlines are counted, and the line there
  std::vector<Token> tokens_;
};

}  // namespace

std::vector<Token> tokens_of(std::string_view text, const std::string& where) {
  std::string storage;
  return Lexer(with_plain_newlines(valid_utf8(text, storage)), where).run();
}

}  // namespace penstock::jinja
