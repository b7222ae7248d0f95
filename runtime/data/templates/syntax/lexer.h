// runtime/data/templates/syntax/lexer.h -- tokens_of(): cuts the source of a template (language
// Jinja) into tokens, for the parser: the text between tags, and the words inside tags.
//
// Example: "Hi {{ name }}!" becomes Text "Hi ", WriteBegin, Name "name", WriteEnd, Text "!", End.
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
  std::string text;  // as in the source, unless the kind says otherwise
  size_t line;       // of the source, from 1
};

// The tokens of a template, the last one of kind End. As in the library transformers the options
// trim_blocks and lstrip_blocks are on: a newline right behind a tag {% %} and blanks before it on
// its line are dropped. Throws Error(Data) naming the template `where` and the line for what is no
// template.
[[nodiscard]] std::vector<Token> tokens_of(std::string_view text, const std::string& where);

}  // namespace penstock::jinja
