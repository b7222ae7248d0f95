// runtime/data/tokenizer/steps/expression.h -- Expression: a regular expression of a tokenizer, by
// PCRE2, with our errors.
//
// Files of tokenizers hold expressions for another library (Oniguruma), and the two read some of
// them differently: `^`, `.`, `\h`, nested classes. What both read alike is let through, the rest
// refused by name (syntax.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace penstock {

// What is looked for in a text.
struct Pattern {
  enum class Kind : uint8_t {
    Theirs,  // an expression from a tokenizer's file
    Ours,    // an expression written for PCRE2
    Text,    // these very characters
  };
  std::string text;
  Kind kind = Kind::Theirs;
  bool operator==(const Pattern&) const = default;
};

// One character of a word, as an expression of ours: a letter, mark, digit, connector or joiner.
inline constexpr const char* kWordCharacter =
    R"([\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\x{200C}\x{200D}])";

// The library and its version, which decide what counts as a letter; empty: a build without PCRE2.
[[nodiscard]] std::string expression_library();

class Expression {
 public:
  // Throws Error(Input) for what is not supported, Error(Data) for what is no expression; `where`
  // names the file.
  Expression(const Pattern& pattern, const std::string& where);
  ~Expression();
  Expression(Expression&&) noexcept;
  Expression& operator=(Expression&&) noexcept;

  // Calls take() with the bytes [begin, end) of each match, from left to right, without overlap and
  // never empty. `text` is valid UTF-8. Thread safe. Throws Error(Data) where the search takes too
  // long.
  void for_each_match(std::string_view text,
                      const std::function<void(size_t begin, size_t end)>& take) const;

 private:
  struct Compiled;
  Expression() = default;
  std::unique_ptr<Compiled> compiled_;
};

}  // namespace penstock
