// runtime/data/templates/interpreter.h -- Interpreter: walks the tree of a template.
//
// Jinja makes Python of a template, so its names are those of Python's functions: what a loop, a
// macro or a block sets is its own, and each turn of a loop begins anew; `if` sets what stands
// around it. A macro sees the names around its definition as they are when it is called.
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

struct Scope {
  std::vector<std::pair<std::string, Value>> names = {};
  std::shared_ptr<Scope> parent = {};
};
using ScopePtr = std::shared_ptr<Scope>;

// `loop` of a template.
struct Loop {
  Value items;  // a row
  size_t at = 0;
  int64_t depth0 = 0;
  const Node* node = nullptr;
  std::weak_ptr<Scope> around;
  Value seen = {};  // what changed() was asked for last: a tuple
};

class Interpreter {
 public:
  explicit Interpreter(std::string date) : date_(std::move(date)) {}

  // The template's names and what it writes; `line` is where it was when something was thrown.
  std::string run(const Node& whole, const nlohmann::ordered_json& names);
  [[nodiscard]] size_t line() const { return line_; }

 private:
  enum class Flow : uint8_t { On, Break, Continue };  // what a statement tells the loop around it

  // Counts how deep the interpreter stands, which takes room on the stack.
  class Deeper;

  // ---- statements
  Flow execute(const Node& node);
  Flow execute_inside(const Node& node, std::vector<std::pair<std::string, Value>> names = {});
  Flow loop(const Node& node, const Value& of, int64_t depth0);
  Value chosen(const Node& node, const Value& items);
  void bind(const Node& target, const Value& value);
  void scoped(const Node& node);
  void write(const Value& value);
  Value captured(const Node& body);
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
  bool escapes_ = false;     // in {% autoescape true %}
  int64_t spaces_read_ = 0;  // how often a member of a namespace was asked for
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
