// runtime/data/tokenizer/steps/expression.h -- Expression: a compiled regular expression, or a
// plain text, that a tokenizer looks for in texts, by the library PCRE2.
//
// Files of tokenizers hold expressions for another library, Oniguruma, and the two libraries read
// some constructs differently (`^`, `.`, `\h`, nested classes). Constructs that both read alike are
// translated (syntax.h), the others refused by name.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace penstock {

// What is looked for in a text; `kind` says how `text` is read.
struct Pattern {
  enum class Kind : uint8_t {
    Theirs,  // an expression from a tokenizer's file, written for Oniguruma
    Ours,    // an expression of this program, written for PCRE2
    Text,    // a plain text, not an expression
  };
  std::string text;
  Kind kind = Kind::Theirs;
  bool operator==(const Pattern&) const = default;
};

// Matches one character of a word: a letter, mark, digit, connector or joiner. Of Kind::Ours.
inline constexpr const char* kWordCharacter =
    R"([\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\x{200C}\x{200D}])";

// The name and version of the library, on which it depends what counts as a letter; empty in a
// build without PCRE2.
[[nodiscard]] std::string expression_library();

class Expression {
 public:
  // Compiles the pattern. Throws Error(Input) for what is not supported, Error(Data) for what is no
  // expression; `where` names the file in messages.
  Expression(const Pattern& pattern, const std::string& where);
  ~Expression();
  Expression(Expression&&) noexcept;
  Expression& operator=(Expression&&) noexcept;

  // Calls take(begin, end) for each match, bytes [begin, end) of `text`, from left to right.
  // Matches do not overlap, and empty ones are left out. `text` must be valid UTF-8. Thread safe.
  // Throws Error(Data) if the search takes too long.
  void for_each_match(std::string_view text,
                      const std::function<void(size_t begin, size_t end)>& take) const;

 private:
  struct Compiled;
  Expression() = default;
  std::unique_ptr<Compiled> compiled_;
};

}  // namespace penstock
