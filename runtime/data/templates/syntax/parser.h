// runtime/data/templates/syntax/parser.h -- the tree of a template.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace penstock::jinja {

// One part of a template: what `text`, `names` and `parts` are depends on the kind. A null part was
// left out.
struct Node {
  enum class Kind : uint8_t {
    // statements
    Block,      // parts: statements
    Text,       // text
    Write,      // parts: an expression
    If,         // parts: condition, then, otherwise
    For,        // parts: target, of what, only if, body, otherwise; text: "recursive" or empty
    Set,        // parts: target, value
    SetBlock,   // parts: target, body, filters (of a Captured) or null
    Scoped,     // parts: targets and values in turn, body, whose names are its own
    Filtered,   // parts: filters (of a Captured), body
    Escaping,   // parts: whether, body; {% autoescape %}
    Macro,      // text: name; names: parameters; parts: body, values of the last parameters
    CallBlock,  // parts: the call, a Macro
    Break,      //
    Continue,   //
    // expressions; what is set is a Name, Items of such, or a Member of a namespace
    Captured,  // what a block wrote, which its filters stand around
    String,    // text
    Whole,     // text
    Real,      // text
    Name,      // text
    Constant,  // text: true, false, none
    Items,     // parts: of a list
    Tuple,     // parts: of it
    Pairs,     // parts: key, value, key, value...
    Member,    // parts: of, key (a String): of.key
    Item,      // parts: of, key: of[key]
    Slice,     // parts: of, from, to, step
    Call,      // parts: what, arguments; names: of the last arguments
    Filter,    // text; parts: of, arguments; names likewise
    Test,      // text; parts: of, arguments; names likewise
    Not,       // parts: one
    Minus,     // parts: one
    Plus,      // parts: one
    Either,    // parts: value, condition, otherwise
    And,       // parts: two
    Or,        // parts: two
    Compare,   // names: operators; parts: one more than those
    Joined,    // parts: of a ~ b ~ c
    Binary,    // text: operator; parts: two
  };
  Kind kind;
  size_t line = 0;
  int depth = 1;  // of the tree below it, itself included
  std::string text = {};
  std::vector<std::string> names = {};
  std::vector<std::unique_ptr<Node>> parts = {};
  bool calls_caller = false;  // of a macro: whether it says what a {% call %} around it wrote
};

// Throws Error(Data) naming `where` and the line for what is no template, Error(Input) for what is
// one and not supported.
[[nodiscard]] std::unique_ptr<Node> parse_template(std::string_view text, const std::string& where);

}  // namespace penstock::jinja
