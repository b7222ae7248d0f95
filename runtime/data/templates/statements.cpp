// statements.cpp -- interpreter.h: what the statements of a template do, such as if, for, set,
// macros and blocks of text.
#include <nlohmann/json.hpp>

#include "runtime/data/templates/interpreter.h"
#include "runtime/data/templates/runner.h"
#include "runtime/data/templates/values/dates.h"
#include "runtime/data/templates/values/written.h"
#include "runtime/system/files/json.h"

namespace penstock::jinja {
namespace {

using Kind = Node::Kind;
using nlohmann::ordered_json;

Value value_of(Budget& budget, const ordered_json& json) {
  if (json.is_null()) return None();
  if (json.is_boolean()) return json.get<bool>();
  if (json.is_number_unsigned() && json.get<uint64_t>() > static_cast<uint64_t>(INT64_MAX)) {
    fail_template("is given a number that is too large");
  }
  if (json.is_number_integer()) return json.get<int64_t>();
  if (json.is_number_float()) return json.get<double>();
  if (json.is_string()) return text_value(budget, json.get_ref<const std::string&>());
  if (json.is_array()) {
    Lister items(budget);
    for (const ordered_json& one : json) items.add(value_of(budget, one));
    return items.value();
  }
  Entries pairs;
  for (const auto& [key, value] : json.items()) {
    pairs.emplace_back(text_value(budget, key), value_of(budget, value));
  }
  return table_value(budget, std::move(pairs));
}

// Gives `place` another value for the length of a block of C++. The old value is put back however
// the block ends.
template <class T>
class Kept {
 public:
  Kept(T& place, T value) : place_(place), before_(std::exchange(place, std::move(value))) {}
  ~Kept() { place_ = std::move(before_); }
  Kept(const Kept&) = delete;
  Kept& operator=(const Kept&) = delete;

 private:
  T& place_;
  T before_;
};

}  // namespace

std::string Interpreter::run(const Node& whole, const ordered_json& names) {
  Writer out(budget_);
  out_ = &out;
  for (const auto& [name, value] : names.items()) set(name, value_of(budget_, value));
  // What the template sets goes into a scope of its own, inside the scope of the given names.
  scope_ = std::make_shared<Scope>(Scope{{}, scope_});
  (void)execute(whole);
  return out.text();
}

Interpreter::Flow Interpreter::execute(const Node& node) {
  const Deeper deeper(*this);
  budget_.work(Budget::kStep);
  line_ = node.line;
  switch (node.kind) {
    case Kind::Block:
      for (const auto& part : node.parts) {
        if (const Flow flow = execute(*part); flow != Flow::On) return flow;
      }
      return Flow::On;
    case Kind::Text:
      out_->add(node.text);
      return Flow::On;
    case Kind::Write:
      write(evaluate(*node.parts[0]));
      return Flow::On;
    case Kind::Escaping: {
      const bool escapes = evaluate(*node.parts[0]).truth();
      const Kept before(escapes_, escapes);
      return execute_inside(*node.parts[1]);
    }
    case Kind::If:
      if (evaluate(*node.parts[0]).truth()) return execute(*node.parts[1]);
      return node.parts[2] ? execute(*node.parts[2]) : Flow::On;
    case Kind::For:
      return loop(node, evaluate(*node.parts[1]), 0);
    case Kind::Set:
      bind(*node.parts[0], evaluate(*node.parts[1]));
      return Flow::On;
    case Kind::SetBlock:
      bind(*node.parts[0],
           node.parts[2] ? filtered(*node.parts[2], *node.parts[1]) : captured(*node.parts[1]));
      return Flow::On;
    case Kind::Scoped:
      scoped(node);
      return Flow::On;
    case Kind::Filtered:
      write_shown(*out_, filtered(*node.parts[0], *node.parts[1]));
      return Flow::On;
    case Kind::Macro:
      set(node.text, std::make_shared<const Callable>(Callable{node.text, {}, &node, scope_}));
      return Flow::On;
    case Kind::CallBlock:
      call_block(node);
      return Flow::On;
    case Kind::Break:
      return Flow::Break;
    case Kind::Continue:
      return Flow::Continue;
    default:
      fail_internal("an expression of a template where a statement should be");
  }
}

Interpreter::Flow Interpreter::execute_inside(const Node& node,
                                              std::vector<std::pair<std::string, Value>> names) {
  const Kept scope(scope_, std::make_shared<Scope>(Scope{std::move(names), scope_}));
  return execute(node);
}

// Returns those items of a loop with `if` that fulfil its condition. All items are chosen before
// the first turn of the loop.
Value Interpreter::chosen(const Node& node, const Value& items) {
  Lister kept(budget_);
  const int64_t read_before = spaces_read_;
  for (const Value& item : items.row()->items) {
    const Kept scope(scope_, std::make_shared<Scope>(Scope{{}, scope_}));
    bind(*node.parts[0], item);
    if (evaluate(*node.parts[2]).truth()) kept.add(item);
  }
  // Jinja tests the condition of an item right before the turn of that item. Earlier turns could
  // have changed a namespace by then, so a condition that reads a namespace is refused.
  if (spaces_read_ != read_before) {
    fail_template("chooses the items of a loop by a namespace, which is not supported");
  }
  return kept.value();
}

Interpreter::Flow Interpreter::loop(const Node& node, const Value& of, int64_t depth0) {
  Value items = items_of(budget_, of);
  if (node.parts[2]) items = chosen(node, items);
  const Values& all = items.row()->items;
  if (all.empty()) {
    if (node.parts[4]) return execute_inside(*node.parts[4]);
    return Flow::On;
  }
  const auto state = std::make_shared<Loop>(Loop{items, 0, depth0, &node, scope_});
  for (; state->at < all.size(); ++state->at) {
    budget_.work(Budget::kStep);
    const Kept scope(scope_, std::make_shared<Scope>(Scope{{{"loop", state}}, scope_}));
    bind(*node.parts[0], all[state->at]);
    if (execute(*node.parts[3]) == Flow::Break) break;
  }
  return Flow::On;
}

void Interpreter::bind(const Node& target, const Value& value) {
  if (target.kind == Kind::Name) return set(target.text, value);
  if (target.kind == Kind::Member) {
    const Value space = lookup(target.parts[0]->text);
    const std::string& name = target.parts[1]->text;
    if (space.space() == nullptr || name.starts_with("_")) {
      fail_template("sets " + penstock::quoted(name) + " of what is no namespace");
    }
    if (value.space() != nullptr || value.loop() != nullptr || value.callable() != nullptr) {
      fail_template("keeps " + kind_of(value) + " in a namespace, which is not supported");
    }
    auto& members = space.space()->members;
    for (auto& [known, old] : members) {
      if (known != name) continue;
      old = value;
      return;
    }
    members.emplace_back(name, value);
    return;
  }
  if (value.table() != nullptr) fail_template("takes a mapping apart, which is not supported");
  const Value parts = items_of(budget_, value);
  if (parts.row()->items.size() != target.parts.size()) {
    fail_template("takes apart what has not so many parts");
  }
  for (size_t i = 0; i < target.parts.size(); ++i) bind(*target.parts[i], parts.row()->items[i]);
}

// Runs a {% with %} block. All values are evaluated before any name is set, so no value sees the
// new names.
void Interpreter::scoped(const Node& node) {
  std::vector<Value> values;
  const size_t pairs = node.parts.size() / 2;
  for (size_t i = 0; i < pairs; ++i) values.push_back(evaluate(*node.parts[2 * i + 1]));
  const Kept scope(scope_, std::make_shared<Scope>(Scope{{}, scope_}));
  for (size_t i = 0; i < pairs; ++i) bind(*node.parts[2 * i], values[i]);
  (void)execute(*node.parts.back());
}

void Interpreter::write(const Value& value) {
  if (!escapes_ || value.escaped()) return write_shown(*out_, value);
  write_escaped(*out_, *str_of(budget_, value).text());
}

Value Interpreter::captured(const Node& body) {
  if (escapes_) fail_template("keeps what a block writes where it escapes all (autoescape)");
  Writer text(budget_);
  const Kept out(out_, &text);
  (void)execute_inside(body);
  return text.value();
}

Value Interpreter::filtered(const Node& filters, const Node& body) {
  const Value text = captured(body);
  const Kept written(captured_, &text);
  return evaluate(filters);
}

void Interpreter::call_block(const Node& node) {
  const Node& called = *node.parts[0];
  const Value what = evaluate(*called.parts[0]);
  Arguments with = arguments(called);
  const Value caller =
      std::make_shared<const Callable>(Callable{"caller", {}, node.parts[1].get(), scope_});
  const bool takes = what.callable() != nullptr && what.callable()->macro != nullptr &&
                     what.callable()->macro->calls_caller;
  if (!takes) fail_template("calls with a block what does not ask for one");
  with.named.emplace_back("caller", caller);
  write_shown(*out_, call(what, with));
}

Value Interpreter::lookup(const std::string& name) const {
  for (const Scope* scope = scope_.get(); scope != nullptr; scope = scope->parent.get()) {
    for (const auto& [known, value] : scope->names) {
      if (known == name) return value;
    }
  }
  for (const char* function : {"range", "dict", "namespace", "raise_exception"}) {
    if (name == function) return std::make_shared<const Callable>(Callable{name});
  }
  if (name == kToday && !date_.empty()) return std::make_shared<const Callable>(Callable{name});
  for (const char* function : {"cycler", "joiner", "lipsum"}) {
    if (name == function) fail_template("uses " + name + ", which is not supported");
  }
  return {};
}

void Interpreter::set(const std::string& name, Value value) {
  for (auto& [known, old] : scope_->names) {
    if (known != name) continue;
    old = std::move(value);
    return;
  }
  scope_->names.emplace_back(name, std::move(value));
}

std::string run_template(const Node& whole, const ordered_json& names, const std::string& date) {
  Interpreter interpreter(date);
  try {
    return interpreter.run(whole, names);
  } catch (const Error& error) {
    throw Error(error.kind(), "line " + std::to_string(interpreter.line()) + ": " + error.what());
  }
}

}  // namespace penstock::jinja
