// runtime/data/jinja/parser.h -- the tree of a template.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace penstock::jinja {

// One part of a template: what `text` and `parts` are depends on the kind. A null part was left
// out.
struct Node {
  enum class Kind : uint8_t {
    // statements
    Block,     // parts: statements
    Text,      // text
    Write,     // parts: an expression
    If,        // parts: condition, then, otherwise
    For,       // names; parts: of what, only if, body, otherwise
    Set,       // text: name, or names of a namespace and its member; parts: value
    Break,     //
    Continue,  //
    // expressions
    String,   // text
    Number,   // text
    Name,     // text
    Items,    // parts: of a list
    Pairs,    // parts: key, value, key, value...
    Member,   // parts: of, key (an expression; of a.b a string)
    Slice,    // parts: of, from, to, step
    Call,     // parts: what, arguments; names: of the last arguments
    Filter,   // text; parts: of, arguments; names likewise
    Test,     // text; parts: of, arguments
    Not,      // parts: one
    Minus,    // parts: one
    Either,   // parts: value, condition, otherwise
    Compare,  // text: operator; parts: two
    Binary,   // text: operator ("and" and "or" as well); parts: two
  };
  Kind kind;
  size_t line = 0;
  int depth = 1;  // of the tree below it, itself included
  std::string text = {};
  std::vector<std::string> names = {};
  std::vector<std::unique_ptr<Node>> parts = {};
};

// Throws Error(Data) naming `where` and the line for what is no template, Error(Input) for what is
// one and not supported.
[[nodiscard]] std::unique_ptr<Node> parse_template(std::string_view text, const std::string& where);

}  // namespace penstock::jinja
