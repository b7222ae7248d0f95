// runtime/data/templates/syntax/parser.h -- parses a template into a tree.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace penstock::jinja {

// One part of a template: what `text`, `names` and `parts` are depends on the kind. A null part was
// left out. A target is a Name, Items of targets, or the Member of a namespace.
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
    // expressions
    Captured,  // what a block wrote, to which the filters around it are applied
    String,    // text: its value
    Whole,     // text: its digits
    Real,      // text: its digits
    Name,      // text
    Constant,  // text: true, false, none
    Items,     // a list; parts: its items
    Tuple,     // parts: its items
    Pairs,     // parts: key, value, key, value...
    Member,    // parts: of, key (a String): of.key
    Item,      // parts: of, key: of[key]
    Slice,     // parts: of, from, to, step
    Call,      // parts: what, arguments; names: those of the last arguments
    Filter,    // text: its name; parts: of, arguments; names: those of the last arguments
    Test,      // text: its name; parts: of, arguments; names: those of the last arguments
    Not,       // parts: one
    Minus,     // parts: one
    Plus,      // parts: one
    Either,    // parts: value, condition, otherwise
    And,       // parts: two
    Or,        // parts: two
    Compare,   // names: operators; parts: operands, one more
    Joined,    // a ~ b ~ c; parts: operands
    Binary,    // text: operator; parts: two
  };
  Kind kind;
  size_t line = 0;
  int depth = 1;  // levels of the tree from this part down
  std::string text = {};
  std::vector<std::string> names = {};
  std::vector<std::unique_ptr<Node>> parts = {};
  bool calls_caller = false;  // of a macro: its body calls caller(), the body of a {% call %}
};

// Parses a template. Throws Error(Data) naming `where` and the line for what is no template,
// Error(Input) for what is not supported.
[[nodiscard]] std::unique_ptr<Node> parse_template(std::string_view text, const std::string& where);

}  // namespace penstock::jinja
