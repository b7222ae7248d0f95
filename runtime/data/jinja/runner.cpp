#include "runtime/data/jinja/runner.h"

#include <algorithm>
#include <optional>

#include "kernels/error.h"
#include "runtime/data/jinja/builtins.h"
#include "runtime/data/jinja/dates.h"
#include "runtime/data/jinja/operators.h"
#include "runtime/files/json.h"

namespace penstock::jinja {
namespace {

using Kind = Node::Kind;

constexpr int64_t kMostSteps = 500'000;
constexpr size_t kMostText = size_t{64} << 20;

// What a statement tells the loop around it.
enum class Flow : uint8_t { On, Break, Continue };

class Runner {
 public:
  explicit Runner(const Map& names) { scopes_.push_back(names); }

  std::string run(const Node& whole) {
    (void)execute(whole);
    return std::move(out_);
  }

 private:
  void step() {
    if (++steps_ > kMostSteps) fail_template("takes too many steps");
  }

  // ---- names: `set` in a loop ends with the turn
  [[nodiscard]] Value lookup(const std::string& name) const {
    for (size_t i = scopes_.size(); i-- > 0;) {
      const auto found = std::ranges::find(scopes_[i], name, &Map::value_type::first);
      if (found != scopes_[i].end()) return found->second;
    }
    return {};
  }

  void write(const std::string& text) {
    if (out_.size() + text.size() > kMostText) fail_template("writes more than 64 MiB");
    out_ += text;
  }

  Flow execute(const Node& node) {
    step();
    switch (node.kind) {
      case Kind::Block:
        for (const auto& part : node.parts) {
          if (const Flow flow = execute(*part); flow != Flow::On) return flow;
        }
        return Flow::On;
      case Kind::Text:
        write(node.text);
        return Flow::On;
      case Kind::Write:
        write(evaluate(*node.parts[0]).shown());
        return Flow::On;
      case Kind::If:
        if (evaluate(*node.parts[0]).truth()) return execute(*node.parts[1]);
        return node.parts[2] ? execute(*node.parts[2]) : Flow::On;
      case Kind::For:
        return loop(node);
      case Kind::Set:
        set(node);
        return Flow::On;
      case Kind::Break:
        return Flow::Break;
      case Kind::Continue:
        return Flow::Continue;
      default:
        fail_internal("an expression of a template where a statement should be");
    }
  }

  void set(const Node& node) {
    Value value = evaluate(*node.parts[0]);
    if (node.names.empty()) return set_member(scopes_.back(), node.text, std::move(value));
    const Value space = lookup(node.text);
    if (space.map() == nullptr || member_of(*space.map(), kNamespace).undefined()) {
      fail_template("sets a member of " + penstock::quoted(node.text) + ", which is no namespace");
    }
    set_member(*space.map(), node.names[0], std::move(value));
  }

  // A mapping is gone through by its keys.
  static List items_of(const Value& of) {
    if (of.list() != nullptr) return *of.list();
    if (of.undefined()) return {};
    if (of.map() == nullptr) fail_template("goes through what is no list");
    List keys;
    for (const auto& [key, value] : *of.map()) keys.emplace_back(key);
    return keys;
  }

  void bind(const Node& node, const Value& item) {
    if (node.names.size() == 1) return set_member(scopes_.back(), node.names[0], item);
    const List* parts = item.list();
    if (parts == nullptr || parts->size() != node.names.size()) {
      fail_template("takes apart what has not so many parts");
    }
    for (size_t i = 0; i < node.names.size(); ++i) {
      set_member(scopes_.back(), node.names[i], (*parts)[i]);
    }
  }

  Flow loop(const Node& node) {
    List items = items_of(evaluate(*node.parts[0]));
    if (node.parts[1]) {
      List kept;
      for (Value& item : items) {
        scopes_.emplace_back();
        bind(node, item);
        if (evaluate(*node.parts[1]).truth()) kept.push_back(std::move(item));
        scopes_.pop_back();
      }
      items = std::move(kept);
    }
    if (items.empty()) return node.parts[3] ? execute(*node.parts[3]) : Flow::On;
    for (size_t i = 0; i < items.size(); ++i) {
      scopes_.emplace_back();
      set_member(scopes_.back(), "loop", state_of(items, i));
      bind(node, items[i]);
      const Flow flow = execute(*node.parts[2]);
      scopes_.pop_back();
      if (flow == Flow::Break) break;
    }
    return Flow::On;
  }

  static Value state_of(const List& items, size_t i) {
    const auto index = static_cast<int64_t>(i);
    const auto length = static_cast<int64_t>(items.size());
    Map state = {{"index0", index},
                 {"index", index + 1},
                 {"revindex", length - index},
                 {"revindex0", length - index - 1},
                 {"first", Value(i == 0)},
                 {"last", Value(i + 1 == items.size())},
                 {"length", length}};
    if (i > 0) state.emplace_back("previtem", items[i - 1]);
    if (i + 1 < items.size()) state.emplace_back("nextitem", items[i + 1]);
    return state;
  }

  // ---- expressions
  Value evaluate(const Node& node) {
    step();
    switch (node.kind) {
      case Kind::String:
        return node.text;
      case Kind::Number:
        return whole_literal(node.text);
      case Kind::Name:
        return named(node.text);
      case Kind::Items:
        return list(node);
      case Kind::Pairs:
        return map(node);
      case Kind::Member:
        return member_or_item(evaluate(*node.parts[0]), evaluate(*node.parts[1]));
      case Kind::Slice:
        return slice(node);
      case Kind::Call:
        return call(node);
      case Kind::Filter: {
        const Value of = evaluate(*node.parts[0]);
        return apply_filter(node.text, of, arguments(node));
      }
      case Kind::Test: {
        const Value of = evaluate(*node.parts[0]);
        return passes_test(node.text, of, arguments(node));
      }
      case Kind::Not:
        return !evaluate(*node.parts[0]).truth();
      case Kind::Minus:
        return -whole_number(evaluate(*node.parts[0]));
      case Kind::Either:
        if (evaluate(*node.parts[1]).truth()) return evaluate(*node.parts[0]);
        return node.parts[2] ? evaluate(*node.parts[2]) : Value();
      case Kind::Compare:
      case Kind::Binary:
        return binary(node);
      default:
        fail_internal("a statement of a template where an expression should be");
    }
  }

  [[nodiscard]] Value named(const std::string& name) const {
    if (name == "true" || name == "True") return true;
    if (name == "false" || name == "False") return false;
    if (name == "none" || name == "None") return None();
    return lookup(name);
  }

  Value list(const Node& node) {
    List items;
    for (const auto& part : node.parts) items.push_back(evaluate(*part));
    return items;
  }
  Value map(const Node& node) {
    Map made;
    for (size_t i = 0; i + 1 < node.parts.size(); i += 2) {
      const Value key = evaluate(*node.parts[i]);
      if (key.text() == nullptr) fail_template("has a mapping whose key is no text");
      set_member(made, *key.text(), evaluate(*node.parts[i + 1]));
    }
    return made;
  }

  Value slice(const Node& node) {
    const Value of = evaluate(*node.parts[0]);
    const auto part = [&](size_t i) -> std::optional<int64_t> {
      if (!node.parts[i]) return std::nullopt;
      const Value value = evaluate(*node.parts[i]);
      return value.none() ? std::nullopt : std::optional(whole_number(value));
    };
    const std::optional<int64_t> from = part(1);
    const std::optional<int64_t> to = part(2);
    return cut_list(of, from, to, part(3).value_or(1));
  }

  Arguments arguments(const Node& node) {
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

  Value call(const Node& node) {
    const Node& what = *node.parts[0];
    if (what.kind == Kind::Member && what.text == ".") {
      const Value of = evaluate(*what.parts[0]);
      return call_method(of, what.parts[1]->text, arguments(node));
    }
    if (what.kind != Kind::Name) fail_template("calls what has no name");
    const Arguments given = arguments(node);
    if (what.text == "raise_exception" && given.values.size() == 1) {
      fail_input("the chat template refuses the messages: " + given.values[0].shown());
    }
    if (what.text == "namespace" && given.values.empty()) {
      Map space = {{kNamespace, true}};
      for (const auto& [name, value] : given.named) set_member(space, name, value);
      return space;
    }
    if (what.text == kToday && given.values.size() == 1 && given.values[0].text() != nullptr) {
      return written_today(lookup(kToday), *given.values[0].text());
    }
    fail_template("calls " + penstock::quoted(what.text) + ", which is not supported");
  }

  Value binary(const Node& node) {
    const Value left = evaluate(*node.parts[0]);
    if (node.text == "and") return left.truth() ? evaluate(*node.parts[1]) : left;
    if (node.text == "or") return left.truth() ? left : evaluate(*node.parts[1]);
    const Value right = evaluate(*node.parts[1]);
    return node.kind == Kind::Compare ? Value(compared(node.text, left, right))
                                      : combined(node.text, left, right);
  }

  static constexpr const char* kNamespace = " namespace";  // a member that no template can name

  std::vector<Map> scopes_;
  std::string out_;
  int64_t steps_ = 0;
};

}  // namespace

std::string run_template(const Node& whole, const Map& names) {
  return Runner(names).run(whole);
}

}  // namespace penstock::jinja
