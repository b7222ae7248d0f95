// runtime/data/templates/syntax/parser.h -- parse_template(): parses the source of a chat template
// (language Jinja) into a tree of Nodes, which the interpreter runs.
//
// Example: "{% if a %}x{% endif %}" becomes Block [If [Name a, Block [Text x], null]].
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace penstock::jinja {

// A statement or expression of a template. The comment beside each kind says what `text`, `names`
// and `parts` (its children, in order) are; members that it does not name are empty. A child that
// may be left out is null then. A target, to which a value is assigned, is a Name, Items of
// targets, or the Member of a namespace.
struct Node {
  enum class Kind : uint8_t {
    // statements
    Block,      // parts: statements
    Text,       // text
    Write,      // parts: an expression
    If,         // parts: condition, then, otherwise
    For,        // parts: target, of what, only if, body, otherwise; text: "recursive" or empty
    Set,        // parts: target, value
    SetBlock,   // {% set x %}...; parts: target, body, filters (of a Captured) or null
    Scoped,     // {% with %}; parts: targets and values in turn, then the body
    Filtered,   // {% filter %}; parts: filters (of a Captured), body
    Escaping,   // {% autoescape %}; parts: whether it is on, body
    Macro,      // text: name; names: parameters; parts: body, defaults of the last parameters
    CallBlock,  // {% call %}; parts: the call, the body as a Macro
    Break,      //
    Continue,   //
    // expressions
    Captured,  // stands for the text that a block wrote, inside the Filters applied to it
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
    Call,      // parts: what is called, arguments; names: those of the last arguments (a=1)
    Filter,    // of | name(...); text: its name; parts: of, arguments; names: as of a Call
    Test,      // of is name(...); text: its name; parts: of, arguments; names: as of a Call
    Not,       // parts: operand
    Minus,     // parts: operand
    Plus,      // parts: operand
    Either,    // value if condition else otherwise; parts: value, condition, otherwise
    And,       // parts: two operands
    Or,        // parts: two operands
    Compare,   // a < b < c; names: operators; parts: operands, one more than operators
    Joined,    // a ~ b ~ c; parts: operands
    Binary,    // text: operator; parts: two operands
  };
  Kind kind;
  size_t line = 0;  // of the source, from 1
  int depth = 1;    // levels of the tree from this node down
  std::string text = {};
  std::vector<std::string> names = {};
  std::vector<std::unique_ptr<Node>> parts = {};
  // Whether the body of a Macro calls caller(), so that {% call %} may use the macro.
  bool calls_caller = false;
};

// Parses the source `text` and returns the tree, whose root is a Block. Throws Error(Data) naming
// the template `where` and the line for what is no template, Error(Input) for what is not
// supported.
[[nodiscard]] std::unique_ptr<Node> parse_template(std::string_view text, const std::string& where);

}  // namespace penstock::jinja
