// runtime/data/templates/interpreter.h -- Interpreter: walks the tree of a template and writes its
// text.
//
// Jinja compiles a template to Python, so names have the scopes of Python's functions: what a loop,
// a macro or a block sets is seen only inside, and each turn of a loop begins anew; what `if` sets
// is seen around it. A macro sees the names around its definition as they are when it is called.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/data/templates/functions/arguments.h"
#include "runtime/data/templates/syntax/parser.h"
#include "runtime/data/templates/writer.h"

namespace penstock::jinja {

// Names and values, inside the scope `parent` (null: none).
struct Scope {
  std::vector<std::pair<std::string, Value>> names = {};
  std::shared_ptr<Scope> parent = {};
};
using ScopePtr = std::shared_ptr<Scope>;

// What `loop` is inside a {% for %}.
struct Loop {
  Value items;                  // a row
  size_t at = 0;                // the item of this turn
  int64_t depth0 = 0;           // how many recursive calls of the loop are around this one
  const Node* node = nullptr;   // the {% for %}
  std::weak_ptr<Scope> around;  // the names outside of it
  Value seen = {};              // the arguments of the last loop.changed(), a tuple
};

class Interpreter {
 public:
  // `date`: today's, as "2024-07-26"; empty: templates find no function that tells it.
  explicit Interpreter(std::string date) : date_(std::move(date)) {}

  // Runs a template with these names and returns what it writes. Where that throws, line() is the
  // line of the template that failed.
  std::string run(const Node& whole, const nlohmann::ordered_json& names);
  [[nodiscard]] size_t line() const { return line_; }

 private:
  enum class Flow : uint8_t { On, Break, Continue };  // what a statement tells the loop around it

  // Counts how deep calls of the interpreter are nested, which takes room on the stack.
  class Deeper;

  // ---- statements
  Flow execute(const Node& node);
  Flow execute_inside(const Node& node, std::vector<std::pair<std::string, Value>> names = {});
  Flow loop(const Node& node, const Value& of, int64_t depth0);
  Value chosen(const Node& node, const Value& items);  // those that the `if` of a loop accepts
  void bind(const Node& target, const Value& value);
  void scoped(const Node& node);
  void write(const Value& value);
  Value captured(const Node& body);  // what it writes, as a text
  Value filtered(const Node& filters, const Node& body);
  void call_block(const Node& node);

  // ---- names
  [[nodiscard]] Value lookup(const std::string& name) const;
  void set(const std::string& name, Value value);

  // ---- expressions
  Value evaluate(const Node& node);
  Value items(const Node& node, Row::Type type);
  Value pairs(const Node& node);
  Value slice(const Node& node);
  bool comparison(const Node& node);
  Value joined(const Node& node);
  Arguments arguments(const Node& node);

  // ---- calls
  Value call(const Value& what, const Arguments& with);
  Value call_function(const std::string& name, const Arguments& with);
  Value call_macro(const Callable& macro, const Arguments& with);
  Value range(const Arguments& with);
  Value member(const Value& of, const std::string& name);
  Value loop_member(const Value& of, const std::string& name);
  Value loop_method(const Value& of, const std::string& name, const Arguments& with);

  Budget budget_;
  const std::string date_;
  ScopePtr scope_ = std::make_shared<Scope>();
  Writer* out_ = nullptr;
  const Value* captured_ = nullptr;  // what Node::Captured stands for
  int depth_ = 0;
  size_t line_ = 0;
  bool escapes_ = false;     // inside {% autoescape true %}
  int64_t spaces_read_ = 0;  // how often a member of a namespace was read
};

class Interpreter::Deeper {
 public:
  explicit Deeper(Interpreter& interpreter) : depth_(interpreter.depth_) {
    constexpr int kDeepest = 1000;
    if (depth_ >= kDeepest) fail_template("calls itself too often");
    ++depth_;
  }
  ~Deeper() { --depth_; }
  Deeper(const Deeper&) = delete;
  Deeper& operator=(const Deeper&) = delete;

 private:
  int& depth_;
};

}  // namespace penstock::jinja
