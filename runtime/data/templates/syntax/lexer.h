// runtime/data/templates/syntax/lexer.h -- cuts a template into text and the words of its tags.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace penstock::jinja {

struct Token {
  enum class Kind : uint8_t {
    Text,        // what stands between tags
    TagBegin,    // {%
    TagEnd,      // %}
    WriteBegin,  // {{
    WriteEnd,    // }}
    Name,
    String,  // text: its value, without quotes and escapes
    Whole,   // digits, with the prefix of another base: 0x10
    Real,
    Sign,  // ( ) [ ] { } . , : | ~ = == != < > <= >= + - * / // % **
    End,
  };
  Kind kind;
  std::string text;
  size_t line;
};

// The tokens of a template, the last one of kind End. As in transformers trim_blocks and
// lstrip_blocks are on: a newline behind a tag, and blanks before it on its line, are dropped.
// Throws Error(Data) naming `where` and the line for what is no template.
[[nodiscard]] std::vector<Token> tokens_of(std::string_view text, const std::string& where);

}  // namespace penstock::jinja
