// runtime/data/templates/interpreter.h -- Interpreter: runs a parsed chat template (a program in
// the language Jinja): walks its tree and writes the text. runner.h is what other folders call.
//
// Names have scopes as in Jinja. What a loop, a macro or a block sets is seen only inside it, and
// each turn of a loop begins anew; what an `if` sets is seen around it. A macro sees the names
// around its definition, with the values that they have when it is called.
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

// The variable `loop` inside a {% for %}.
struct Loop {
  Value items;                  // what the loop goes through: a row
  size_t at = 0;                // the index of this turn's item
  int64_t depth0 = 0;           // of a recursive loop: how many calls of it are around this one
  const Node* node = nullptr;   // the {% for %}
  std::weak_ptr<Scope> around;  // the names outside of the loop
  Value seen = {};              // the arguments of the last loop.changed(), a tuple
};

class Interpreter {
 public:
  // `date`: today's, as "2024-07-26"; empty: the function strftime_now, by which templates ask for
  // it, is not defined.
  explicit Interpreter(std::string date) : date_(std::move(date)) {}

  // Called once: runs a template and returns what it writes. `names`: the variables that it is
  // given, an object. If it throws (Error(Input), as run_template() in runner.h), line() is the
  // line of the template that failed.
  std::string run(const Node& whole, const nlohmann::ordered_json& names);
  [[nodiscard]] size_t line() const { return line_; }

 private:
  // How a statement ended: On: go on with the next one; else what the loop around it must do.
  enum class Flow : uint8_t { On, Break, Continue };

  // Limits how deeply functions of the interpreter call one another, since that takes stack.
  class Deeper;

  // ---- statements
  Flow execute(const Node& node);
  Flow execute_inside(const Node& node, std::vector<std::pair<std::string, Value>> names = {});
  Flow loop(const Node& node, const Value& of, int64_t depth0);
  Value chosen(const Node& node, const Value& items);  // the items that the `if` of a loop accepts
  void bind(const Node& target, const Value& value);
  void scoped(const Node& node);
  void write(const Value& value);
  Value captured(const Node& body);  // the text that `body` writes, as a value
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
  ScopePtr scope_ = std::make_shared<Scope>();  // the innermost scope
  Writer* out_ = nullptr;                       // where statements write
  const Value* captured_ = nullptr;             // the value of Node::Kind::Captured
  int depth_ = 0;                               // of calls, counted by Deeper
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
