#include "runtime/data/tokenizer/steps/syntax.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "kernels/error.h"
#include "runtime/data/tokenizer/utf8.h"
#include "runtime/system/files/json.h"

namespace penstock {
namespace {

// This is white space as Unicode defines it. The characters are listed one by one, because \s of
// PCRE2 also matches U+180E.
constexpr std::string_view kSpaces =
    R"(\x{09}-\x{0D}\x{20}\x{85}\x{A0}\x{1680}\x{2000}-\x{200A}\x{2028}\x{2029}\x{202F}\x{205F}\x{3000})";

constexpr std::array<std::string_view, 7> kGroups = {
    "(?:", "(?i:", "(?!", "(?=", "(?<!", "(?<=", "("};
constexpr std::array<std::string_view, 37> kCategories = {
    "L",  "Lu", "Ll", "Lt", "Lm", "Lo", "M",  "Mn", "Mc", "Me", "N",  "Nd", "Nl",
    "No", "P",  "Pc", "Pd", "Ps", "Pe", "Pi", "Pf", "Po", "S",  "Sm", "Sc", "Sk",
    "So", "Z",  "Zs", "Zl", "Zp", "C",  "Cc", "Cf", "Cs", "Co", "Cn"};

// These are the characters that \w matches in Oniguruma, the library that the expressions are
// written for.
constexpr std::string_view kWord = R"(\p{L}\p{M}\p{Nd}\p{Pc})";

// These scripts have the same name in Oniguruma and in PCRE2.
constexpr std::array<std::string_view, 20> kScripts = {
    "Arabic",   "Armenian", "Bengali", "Bopomofo", "Cyrillic", "Devanagari", "Ethiopic",
    "Georgian", "Greek",    "Han",     "Hangul",   "Hebrew",   "Hiragana",   "Katakana",
    "Khmer",    "Lao",      "Latin",   "Tamil",    "Thai",     "Tibetan"};

class Translation {
 public:
  Translation(const std::string& pattern, const std::string& where)
      : pattern_(pattern), rest_(pattern), where_(where) {}

  std::string run() {
    std::string storage;
    if (valid_utf8(pattern_, storage).data() != pattern_.data()) refuse("bytes that are no UTF-8");
    while (!rest_.empty()) element();
    return std::move(out_);
  }

 private:
  [[noreturn]] void refuse(const std::string& what) const {
    fail_input(where_ + ": the expression " + quoted(pattern_) + " has " + what +
               ", which is not supported in the expressions of a tokenizer");
  }

  void copy(size_t n) {
    out_ += rest_.substr(0, n);
    rest_.remove_prefix(n);
  }

  void replace(size_t n, std::string_view by) {
    out_ += by;
    rest_.remove_prefix(n);
  }

  void element() {
    const char c = rest_.front();
    if (c == '\\') return escape(false);
    if (c == '[') return char_class();
    if (c == '(') return group();
    if (c == '{') return repeat();
    if (c == '.') return replace(1, R"([^\n])");
    if (c == '^' || c == '$' || c == ']' || c == '}') refuse(std::string("'") + c + "'");
    if (c == '?' || c == '*' || c == '+') return quantifier();
    copy(1);
  }

  void group() {
    const auto form = std::ranges::find_if(kGroups, [&](std::string_view g) {
      return rest_.starts_with(g) &&
             (g != "(" || !(rest_.starts_with("(?") || rest_.starts_with("(*")));
    });
    if (form == kGroups.end()) refuse(quoted(std::string(rest_.substr(0, 4))));
    copy(form->size());
  }

  // Copies a quantifier of one character, and a sign behind it that makes it lazy or possessive.
  void quantifier() {
    copy(1);
    if (rest_.starts_with('?') || rest_.starts_with('+')) copy(1);
    if (!rest_.empty() && std::string_view("?*+{").find(rest_.front()) != std::string_view::npos) {
      refuse("a quantifier of a quantifier");
    }
  }

  // Copies a repetition, such as {2}, {2,} or {1,3}. Refuses a quantifier behind the repetition: in
  // PCRE2 a `+` makes {2} possessive, and in Oniguruma it is another repetition.
  void repeat() {
    size_t at = 1;
    const auto digits = [&] {
      const size_t first = at;
      while (at < rest_.size() && rest_[at] >= '0' && rest_[at] <= '9') ++at;
      return at > first && at - first <= 4;
    };
    bool good = digits();
    if (good && rest_.substr(at).starts_with(',')) {
      ++at;
      if (!rest_.substr(at).starts_with('}')) good = digits();
    }
    if (!good || !rest_.substr(at).starts_with('}')) refuse("'{' that is no repetition");
    copy(at + 1);
    if (!rest_.empty() && std::string_view("?*+{").find(rest_.front()) != std::string_view::npos) {
      refuse("a quantifier of a quantifier");
    }
  }

  void escape(bool in_class) {
    if (rest_.size() < 2) refuse("a '\\' at its end");
    const char c = rest_[1];
    for (const auto& [name, all] : {std::pair('s', kSpaces), std::pair('w', kWord)}) {
      const std::string set(all);
      if (c == name) return replace(2, in_class ? set : "[" + set + "]");
      if (!in_class && c == name - 'a' + 'A') return replace(2, "[^" + set + "]");
    }
    if (c == 'p' || c == 'P') return property();
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    const bool known = std::string_view("rntd").find(c) != std::string_view::npos;
    if ((letter && !known) || static_cast<unsigned char>(c) >= 0x80) {
      refuse(quoted(std::string("\\") + c));
    }
    copy(2);
  }

  void property() {
    const size_t end = rest_.find('}');
    const bool braces = rest_.size() > 2 && rest_[2] == '{' && end != std::string_view::npos;
    const std::string_view name = braces ? rest_.substr(3, end - 3) : std::string_view();
    if (std::ranges::find(kScripts, name) != kScripts.end()) {
      // The "sc:" keeps PCRE2 from also matching characters that are only used together with the
      // script.
      return replace(end + 1, std::string(rest_.substr(0, 3)) + "sc:" + std::string(name) + "}");
    }
    if (std::ranges::find(kCategories, name) == kCategories.end()) {
      refuse(quoted(std::string(rest_.substr(0, braces ? end + 1 : 3))));
    }
    copy(end + 1);
  }

  void char_class() {
    copy(1);
    if (rest_.starts_with('^')) copy(1);
    if (rest_.starts_with(']')) refuse("an empty class");
    while (!rest_.starts_with(']')) {
      if (rest_.empty()) refuse("a class without an end");
      if (rest_.front() == '[') refuse("a class in a class");
      if (rest_.starts_with("&&")) refuse("'&&'");
      if (rest_.front() == '\\') {
        escape(true);
      } else {
        copy(1);
      }
    }
    copy(1);
  }

  const std::string& pattern_;
  std::string_view rest_;
  const std::string& where_;
  std::string out_;
};

}  // namespace

std::string pcre2_form(const std::string& pattern, const std::string& where) {
  constexpr size_t kLongest = 8192;
  if (pattern.size() > kLongest) fail_input(where + ": an expression is longer than 8 KiB");
  return Translation(pattern, where).run();
}

}  // namespace penstock
