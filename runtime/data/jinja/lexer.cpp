#include "runtime/data/jinja/lexer.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "kernels/error.h"
#include "runtime/data/words/utf8.h"

namespace penstock::jinja {
namespace {

constexpr std::string_view kBlanks = " \t\n\v\f\r";

constexpr std::array<std::string_view, 24> kSigns = {"**", "//", "==", "!=", "<=", ">=", "(", ")",
                                                     "[",  "]",  "{",  "}",  ".",  ",",  ":", "|",
                                                     "~",  "=",  "<",  ">",  "+",  "-",  "*", "/"};

bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}
bool is_digit(char c) {
  return c >= '0' && c <= '9';
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
  if (plain.ends_with('\n')) plain.pop_back();  // one at the end is no part of a template
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
      if (!rest_.empty()) tag();
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

  // The text before the next tag, or at the end.
  void between(std::string_view all) {
    std::string_view kept = all;
    const std::string_view tag = rest_.substr(all.size());
    if (tag.size() > 2 && tag[2] == '-') {
      kept = kept.substr(0, kept.find_last_not_of(kBlanks) + 1);
    } else if (tag.size() > 2 && tag[2] != '+' && tag[1] != '{') {
      const size_t last = kept.rfind('\n');
      const size_t begin = last == std::string_view::npos ? 0 : last + 1;
      const bool line_begins = begin > 0 || line_begins_;
      if (line_begins && kept.substr(begin).find_first_not_of(kBlanks) == std::string_view::npos) {
        kept = kept.substr(0, begin);
      }
    }
    if (!kept.empty()) push(Token::Kind::Text, std::string(kept));
    rest_.remove_prefix(all.size());
  }

  void tag() {
    const char form = rest_[1];
    const size_t signed_by = rest_.size() > 2 && (rest_[2] == '-' || rest_[2] == '+') ? 3 : 2;
    if (form == '#') {
      const size_t end = rest_.find("#}", 2);
      if (end == std::string_view::npos) fail("a comment has no end");
      const bool trims = rest_[end - 1] == '-';
      rest_.remove_prefix(end + 2);
      return behind(trims, true);
    }
    const bool writes = form == '{';
    push(writes ? Token::Kind::WriteBegin : Token::Kind::TagBegin, "");
    rest_.remove_prefix(signed_by);
    const std::string_view end = writes ? "}}" : "%}";
    int open = 0;  // brackets: a mapping may end with "}}"
    for (;;) {
      rest_.remove_prefix(std::min(rest_.find_first_not_of(kBlanks), rest_.size()));
      if (rest_.empty()) fail("a tag has no end");
      const size_t sign = rest_.front() == '-' || rest_.front() == '+' ? 1 : 0;
      if (open == 0 && rest_.substr(sign).starts_with(end)) {
        const bool trims = rest_.front() == '-';
        const bool keeps = rest_.front() == '+';
        push(writes ? Token::Kind::WriteEnd : Token::Kind::TagEnd, "");
        rest_.remove_prefix(sign + 2);
        return behind(trims, !writes && !keeps);
      }
      word(open);
    }
  }

  // White space that a tag takes along.
  void behind(bool trims, bool newline) {
    size_t n = 0;
    if (trims) {
      n = std::min(rest_.find_first_not_of(kBlanks), rest_.size());
    } else if (newline && rest_.starts_with('\n')) {
      n = 1;
    }
    line_begins_ = n > 0 && rest_[n - 1] == '\n';
    rest_.remove_prefix(n);
  }

  void word(int& open) {
    const char c = rest_.front();
    if (c == '"' || c == '\'') return string(c);
    if (is_letter(c) || is_digit(c)) {
      size_t n = 1;
      while (n < rest_.size() && (is_digit(rest_[n]) || (is_letter(c) && is_letter(rest_[n])))) ++n;
      push(is_letter(c) ? Token::Kind::Name : Token::Kind::Number, std::string(rest_.substr(0, n)));
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

  // Behind the backslash at `at` - 1; how many characters belong to it.
  size_t escape(size_t at, std::string& value) const {
    constexpr std::string_view kFrom = "ntr\\'\"abfv0";
    constexpr std::string_view kTo("\n\t\r\\'\"\a\b\f\v\0", 11);
    const char c = rest_[at];
    if (c == '\n') return 1;
    if (const size_t known = kFrom.find(c); known != std::string_view::npos) {
      value += kTo[known];
      return 1;
    }
    const size_t digits = c == 'x' ? 2 : c == 'u' ? 4 : 0;
    uint32_t code = 0;
    if (digits > 0 && at + digits < rest_.size()) {
      const char* const first = rest_.data() + at + 1;
      const auto [end, error] = std::from_chars(first, first + digits, code, 16);
      const bool scalar = code < 0xD800 || code >= 0xE000;
      if (error == std::errc() && end == first + digits && scalar) {
        append_utf8(value, code);
        return 1 + digits;
      }
    }
    if (digits > 0 || c == 'U' || c == 'N' || is_digit(c)) fail("an escape that is not supported");
    value += '\\';
    value += c;
    return 1;
  }

  std::string text_;
  std::string_view rest_;
  const std::string& where_;
  bool line_begins_ = true;
  mutable size_t counted_ = 0, line_ = 1;  // bytes whose newlines are counted, and the line there
  std::vector<Token> tokens_;
};

}  // namespace

std::vector<Token> tokens_of(std::string_view text, const std::string& where) {
  std::string storage;
  return Lexer(with_plain_newlines(valid_utf8(text, storage)), where).run();
}

}  // namespace penstock::jinja
