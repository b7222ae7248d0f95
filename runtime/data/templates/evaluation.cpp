// evaluation.cpp -- interpreter.h: what the expressions of a template are worth: names,
// operators, calls.
#include <nlohmann/json.hpp>

#include "runtime/data/templates/functions/filters.h"
#include "runtime/data/templates/functions/methods.h"
#include "runtime/data/templates/functions/operators.h"
#include "runtime/data/templates/interpreter.h"
#include "runtime/data/templates/values/dates.h"
#include "runtime/data/templates/values/written.h"
#include "runtime/system/files/json.h"

namespace penstock::jinja {

using Kind = Node::Kind;

Value Interpreter::evaluate(const Node& node) {
  const Deeper deeper(*this);
  budget_.work(Budget::kStep);
  switch (node.kind) {
    case Kind::String:
      return text_value(budget_, node.text);
    case Kind::Whole:
      return whole_literal(node.text);
    case Kind::Real:
      return real_literal(node.text);
    case Kind::Constant:
      return node.text == "none" ? Value(None()) : Value(node.text == "true");
    case Kind::Captured:
      return *captured_;
    case Kind::Name:
      return lookup(node.text);
    case Kind::Items:
      return items(node, Row::Type::List);
    case Kind::Tuple:
      return items(node, Row::Type::Tuple);
    case Kind::Pairs:
      return pairs(node);
    case Kind::Member:
      return member(evaluate(*node.parts[0]), node.parts[1]->text);
    case Kind::Item: {
      const Value of = evaluate(*node.parts[0]);
      const Value key = evaluate(*node.parts[1]);
      if (key.text() != nullptr && (of.loop() != nullptr || of.space() != nullptr)) {
        return member(of, *key.text());
      }
      return item_of(budget_, of, key);
    }
    case Kind::Slice:
      return slice(node);
    case Kind::Call: {
      const Value what = evaluate(*node.parts[0]);
      line_ = node.line;
      const bool dated = node.parts[0]->kind == Kind::Name && node.parts[0]->text == kToday;
      if (dated && what.undefined()) (void)written_date(date_, "");  // throws, and says what to do
      return call(what, arguments(node));
    }
    case Kind::Filter: {
      const Value of = evaluate(*node.parts[0]);
      const bool joins = node.text == "join" || node.text == "replace" || node.text == "map";
      if (escapes_ && joins) fail_template("joins values where it escapes all (autoescape)");
      return apply_filter(budget_, node.text, of, arguments(node));
    }
    case Kind::Test: {
      const Value of = evaluate(*node.parts[0]);
      return passes_test(budget_, node.text, of, arguments(node));
    }
    case Kind::Not:
      return !evaluate(*node.parts[0]).truth();
    case Kind::Minus:
      return negated(evaluate(*node.parts[0]));
    case Kind::Plus: {
      const Value of = evaluate(*node.parts[0]);
      return of.real() != nullptr ? of : Value(whole_number(of));
    }
    case Kind::Either:
      if (evaluate(*node.parts[1]).truth()) return evaluate(*node.parts[0]);
      return node.parts[2] ? evaluate(*node.parts[2]) : Value();
    case Kind::And: {
      const Value left = evaluate(*node.parts[0]);
      return left.truth() ? evaluate(*node.parts[1]) : left;
    }
    case Kind::Or: {
      const Value left = evaluate(*node.parts[0]);
      return left.truth() ? left : evaluate(*node.parts[1]);
    }
    case Kind::Compare:
      return comparison(node);
    case Kind::Joined:
      return joined(node);
    case Kind::Binary: {
      const Value left = evaluate(*node.parts[0]);
      const Value right = evaluate(*node.parts[1]);
      return combined(budget_, node.text, left, right);
    }
    default:
      fail_internal("a statement of a template where an expression should be");
  }
}

Value Interpreter::items(const Node& node, Row::Type type) {
  Lister all(budget_);
  for (const auto& part : node.parts) all.add(evaluate(*part));
  return all.value(type);
}

Value Interpreter::pairs(const Node& node) {
  Entries made;
  for (size_t i = 0; i + 1 < node.parts.size(); i += 2) {
    Value key = evaluate(*node.parts[i]);
    put(budget_, made, std::move(key), evaluate(*node.parts[i + 1]));
  }
  return table_value(budget_, std::move(made));
}

Value Interpreter::slice(const Node& node) {
  const Value of = evaluate(*node.parts[0]);
  const auto part = [&](size_t i) -> std::optional<int64_t> {
    if (!node.parts[i]) return std::nullopt;
    const Value value = evaluate(*node.parts[i]);
    return value.none() ? std::nullopt : std::optional(whole_number(value));
  };
  const std::optional<int64_t> from = part(1);
  const std::optional<int64_t> to = part(2);
  return cut_of(budget_, of, {from, to, part(3)});
}

bool Interpreter::comparison(const Node& node) {
  Value left = evaluate(*node.parts[0]);
  for (size_t i = 0; i < node.names.size(); ++i) {
    Value right = evaluate(*node.parts[i + 1]);
    if (!compared(budget_, node.names[i], left, right)) return false;
    left = std::move(right);
  }
  return true;
}

Value Interpreter::joined(const Node& node) {
  if (escapes_) fail_template("joins values where it escapes all (autoescape)");
  Writer all(budget_);
  for (const auto& part : node.parts) write_shown(all, evaluate(*part));
  return all.value();
}

Arguments Interpreter::arguments(const Node& node) {
  Arguments given;
  const size_t plain = node.parts.size() - node.names.size();
  for (size_t i = 1; i < node.parts.size(); ++i) {
    Value value = evaluate(*node.parts[i]);
    if (i < plain) {
      given.values.push_back(std::move(value));
    } else {
      given.named.emplace_back(node.names[i - plain], std::move(value));
    }
  }
  return given;
}

Value Interpreter::member(const Value& of, const std::string& name) {
  if (of.loop() != nullptr) return loop_member(of, name);
  if (of.callable() != nullptr) fail_template("asks a function for " + penstock::quoted(name));
  if (of.space() != nullptr) ++spaces_read_;
  return member_of(budget_, of, name);
}

Value Interpreter::call(const Value& what, const Arguments& with) {
  if (what.loop() != nullptr) {
    const auto given = bound(with, {"items"}, "loop");
    const Loop& outer = *what.loop();
    const ScopePtr around = outer.around.lock();
    if (given[0] == nullptr || outer.node->text != "recursive" || !around) {
      fail_template("calls a loop that is not recursive");
    }
    const Value items = *given[0];
    const ScopePtr before = std::exchange(scope_, around);
    Writer text(budget_);
    Writer* const out = std::exchange(out_, &text);
    (void)loop(*outer.node, items, outer.depth0 + 1);
    out_ = out;
    scope_ = before;
    return text.value();
  }
  const Callable* const callable = what.callable();
  if (callable == nullptr) fail_template("calls " + kind_of(what));
  if (callable->macro != nullptr) return call_macro(*callable, with);
  if (!callable->method()) return call_function(callable->name, with);
  if (callable->self.loop() != nullptr) return loop_method(callable->self, callable->name, with);
  return call_method(budget_, callable->self, callable->name, with);
}

Value Interpreter::call_macro(const Callable& macro, const Arguments& with) {
  const Deeper deeper(*this);
  if (escapes_) fail_template("calls a macro where it escapes all (autoescape)");
  const Node& node = *macro.macro;
  const std::string called = "the macro " + penstock::quoted(node.text);
  const ScopePtr around = macro.around.lock();
  if (!around) fail_template("calls " + called + " where its definition is gone");
  if (with.values.size() > node.names.size()) {
    fail_template("calls " + called + " with too many values");
  }
  const ScopePtr inside = std::make_shared<Scope>(Scope{{}, around});
  const ScopePtr before = std::exchange(scope_, inside);
  std::vector<bool> used(with.named.size());
  const size_t required = node.names.size() - (node.parts.size() - 1);
  for (size_t i = 0; i < node.names.size(); ++i) {
    std::optional<Value> value;
    if (i < with.values.size()) value = with.values[i];
    for (size_t n = 0; n < with.named.size(); ++n) {
      if (with.named[n].first != node.names[i]) continue;
      if (value) fail_template("gives " + called + " a value twice");
      value = with.named[n].second;
      used[n] = true;
    }
    if (!value && i >= required) value = evaluate(*node.parts[1 + i - required]);
    set(node.names[i], value.value_or(Value()));
  }
  for (size_t n = 0; n < with.named.size(); ++n) {
    const bool caller = with.named[n].first == "caller" && node.calls_caller;
    if (!used[n] && !caller) {
      fail_template("gives " + called + " the value " + penstock::quoted(with.named[n].first));
    }
    if (!used[n]) set("caller", with.named[n].second);
  }
  Writer text(budget_);
  Writer* const out = std::exchange(out_, &text);
  (void)execute(*node.parts[0]);
  out_ = out;
  scope_ = before;
  return text.value();
}

Value Interpreter::call_function(const std::string& name, const Arguments& with) {
  if (name == "range") return range(with);
  if (name == "raise_exception") {
    const auto given = bound(with, {"message"}, name);
    Writer message(budget_);
    if (given[0] != nullptr) write_shown(message, *given[0]);
    fail_input("the chat template refuses the messages: " + message.text());
  }
  if (name == kToday) {
    const auto given = bound(with, {"format"}, name);
    return text_value(budget_, written_date(date_, text_of(given[0], name)));
  }
  // The name is dict or namespace here. Both functions take a mapping, or named values.
  Entries pairs;
  if (with.values.size() > 1) fail_template("calls " + name + " with several values");
  if (with.values.size() == 1) {
    if (with.values[0].table() == nullptr) {
      fail_template("calls " + name + " with " + kind_of(with.values[0]));
    }
    pairs = with.values[0].table()->pairs;
  }
  for (const auto& [key, value] : with.named) put(budget_, pairs, text_value(budget_, key), value);
  Value table = table_value(budget_, std::move(pairs));
  if (name == "dict") return table;
  const auto space = std::make_shared<Space>();
  for (const auto& [key, value] : table.table()->pairs) {
    const std::string& member = text_of(&key, name);
    if (member.starts_with("_")) fail_template("names a member " + penstock::quoted(member));
    space->members.emplace_back(member, value);
  }
  return space;
}

Value Interpreter::range(const Arguments& with) {
  constexpr int64_t kLongest = 100'000;  // the limit of Jinja's sandbox
  if (with.values.empty() || !with.named.empty()) fail_template("calls range with such arguments");
  const auto given = bound(with, {"start", "stop", "step"}, "range");
  const int64_t first = given[1] == nullptr ? 0 : whole_number(*given[0]);
  const int64_t end = whole_number(given[1] == nullptr ? *given[0] : *given[1]);
  const int64_t step = given[2] == nullptr ? 1 : whole_number(*given[2]);
  if (step == 0) fail_template("calls range with steps of 0");
  Lister all(budget_);
  for (int64_t i = first; step > 0 ? i < end : i > end;) {
    if (std::ssize(all.items()) >= kLongest)
      fail_template("goes through a range of more than 100000");
    all.add(i);
    if (__builtin_add_overflow(i, step, &i)) break;
  }
  return all.value(Row::Type::Range);
}

Value Interpreter::loop_member(const Value& of, const std::string& name) {
  const Loop& loop = *of.loop();
  const Values& all = loop.items.row()->items;
  const auto index = static_cast<int64_t>(loop.at);
  const auto length = static_cast<int64_t>(all.size());
  if (name == "index0") return index;
  if (name == "index") return index + 1;
  if (name == "revindex") return length - index;
  if (name == "revindex0") return length - index - 1;
  if (name == "first") return index == 0;
  if (name == "last") return index + 1 == length;
  if (name == "length") return length;
  if (name == "depth") return loop.depth0 + 1;
  if (name == "depth0") return loop.depth0;
  if (name == "previtem") return index > 0 ? all[loop.at - 1] : Value();
  if (name == "nextitem") return index + 1 < length ? all[loop.at + 1] : Value();
  if (name == "cycle" || name == "changed") {
    return std::make_shared<const Callable>(Callable{name, of});
  }
  fail_template("asks a loop for " + penstock::quoted(name));
}

Value Interpreter::loop_method(const Value& of, const std::string& name, const Arguments& with) {
  if (!with.named.empty()) fail_template("calls loop." + name + " with names");
  Loop& loop = *of.loop();
  if (name == "cycle") {
    if (with.values.empty()) fail_template("calls loop.cycle without values");
    return with.values[loop.at % with.values.size()];
  }
  Value now = list_value(budget_, with.values, Row::Type::Tuple);
  const bool changed = loop.seen.undefined() || !equal(budget_, loop.seen, now);
  if (changed) loop.seen = std::move(now);
  return changed;
}

}  // namespace penstock::jinja
