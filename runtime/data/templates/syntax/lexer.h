// runtime/data/templates/syntax/lexer.h -- a template cut into text and the words of its tags.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace penstock::jinja {

struct Token {
  enum class Kind : uint8_t {
    Text,        // between tags
    TagBegin,    // {%
    TagEnd,      // %}
    WriteBegin,  // {{
    WriteEnd,    // }}
    Name,
    String,  // its value
    Whole,   // digits, with the prefix of another base: 0x10
    Real,
    Sign,  // ( ) [ ] { } . , : | ~ = == != < > <= >= + - * / // % **
    End,
  };
  Kind kind;
  std::string text;
  size_t line;
};

// With trim_blocks and lstrip_blocks on, as transformers has them: a newline behind a tag, and
// blanks before it on its line, are none of the text. The last is of kind End. Throws Error(Data)
// naming `where` and the line.
[[nodiscard]] std::vector<Token> tokens_of(std::string_view text, const std::string& where);

}  // namespace penstock::jinja
