#include "runtime/data/jinja/runner.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include "kernels/error.h"
#include "runtime/data/jinja/builtins.h"
#include "runtime/files/json.h"

namespace penstock::jinja {
namespace {

using Kind = Node::Kind;

constexpr int64_t kMostSteps = 500'000;
constexpr size_t kMostText = size_t{64} << 20;

// What a statement tells the loop around it.
enum class Flow : uint8_t { On, Break, Continue };

[[noreturn]] void fail_template(const std::string& what) {
  fail_input("the chat template " + what);
}

int64_t whole_number(const Value& value) {
  if (const int64_t* number = value.number()) return *number;
  if (const bool* truth = value.boolean()) return *truth ? 1 : 0;
  fail_template("calculates with what is no whole number");
}

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
        return literal(node.text);
      case Kind::Name:
        return named(node.text);
      case Kind::Items:
        return list(node);
      case Kind::Pairs:
        return map(node);
      case Kind::Member:
        return member(evaluate(*node.parts[0]), evaluate(*node.parts[1]));
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
        return compare(node);
      case Kind::Binary:
        return binary(node);
      default:
        fail_internal("a statement of a template where an expression should be");
    }
  }

  static Value literal(const std::string& digits) {
    int64_t number = 0;
    const char* const last = digits.data() + digits.size();
    const auto [end, error] = std::from_chars(digits.data(), last, number);
    if (error != std::errc() || end != last || number > kMostNumber) {
      fail_template("has a number that is too large");
    }
    return number;
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

  static Value member(const Value& of, const Value& key) {
    if (of.undefined() || of.none()) fail_template("asks for a member of what is not there");
    if (of.map() != nullptr && key.text() != nullptr) return member_of(*of.map(), *key.text());
    if (of.list() != nullptr && key.number() != nullptr) {
      const auto size = static_cast<int64_t>(of.list()->size());
      const int64_t at = *key.number() < 0 ? *key.number() + size : *key.number();
      return at >= 0 && at < size ? (*of.list())[static_cast<size_t>(at)] : Value();
    }
    if (of.text() != nullptr && key.number() != nullptr) {
      fail_template("asks for a character of a text, which is not supported");
    }
    return {};
  }

  // As Python cuts lists.
  Value slice(const Node& node) {
    const Value of = evaluate(*node.parts[0]);
    if (of.list() == nullptr) fail_template("cuts what is no list, which is not supported");
    const auto size = static_cast<int64_t>(of.list()->size());
    const auto part = [&](size_t i) -> std::optional<int64_t> {
      if (!node.parts[i]) return std::nullopt;
      const Value value = evaluate(*node.parts[i]);
      return value.none() ? std::nullopt : std::optional(whole_number(value));
    };
    const int64_t step = part(3).value_or(1);
    if (step == 0) fail_template("cuts a list in steps of 0");
    const int64_t lowest = step > 0 ? 0 : -1;
    const int64_t highest = step > 0 ? size : size - 1;
    const auto clamped = [&](int64_t i) {
      return std::clamp(i < 0 ? i + size : i, lowest, highest);
    };
    const std::optional<int64_t> from = part(1);
    const std::optional<int64_t> to = part(2);
    const int64_t begin = from ? clamped(*from) : (step > 0 ? 0 : size - 1);
    const int64_t end = to ? clamped(*to) : (step > 0 ? size : -1);
    List kept;
    for (int64_t i = begin; step > 0 ? i < end : i > end; i += step) {
      kept.push_back((*of.list())[static_cast<size_t>(i)]);
    }
    return kept;
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
    if (what.text == "strftime_now") {
      fail_template(
          "writes today's date (strftime_now), which no two runs would share: put a "
          "template without it into chat_template.jinja");
    }
    fail_template("calls " + penstock::quoted(what.text) + ", which is not supported");
  }

  Value compare(const Node& node) {
    const Value left = evaluate(*node.parts[0]);
    const Value right = evaluate(*node.parts[1]);
    if (node.text == "==") return left.equals(right);
    if (node.text == "!=") return !left.equals(right);
    if (node.text == "in") return contains(right, left);
    if (node.text == "not in") return !contains(right, left);
    const int64_t a = whole_number(left);
    const int64_t b = whole_number(right);
    if (node.text == "<") return a < b;
    if (node.text == ">") return a > b;
    return node.text == "<=" ? a <= b : a >= b;
  }

  static bool contains(const Value& in, const Value& what) {
    if (in.list() != nullptr) {
      return std::ranges::any_of(*in.list(), [&](const Value& one) { return one.equals(what); });
    }
    if (in.text() != nullptr && what.text() != nullptr) {
      return in.text()->find(*what.text()) != std::string::npos;
    }
    if (in.map() != nullptr && what.text() != nullptr) {
      return !member_of(*in.map(), *what.text()).undefined();
    }
    if (in.undefined()) return false;
    fail_template("looks for something in what holds nothing");
  }

  Value binary(const Node& node) {
    const Value left = evaluate(*node.parts[0]);
    if (node.text == "and") return left.truth() ? evaluate(*node.parts[1]) : left;
    if (node.text == "or") return left.truth() ? left : evaluate(*node.parts[1]);
    const Value right = evaluate(*node.parts[1]);
    if (node.text == "~") return left.shown() + right.shown();
    if (node.text == "+" && left.text() != nullptr && right.text() != nullptr) {
      if (left.text()->size() + right.text()->size() > kMostText) fail_template("writes too much");
      return *left.text() + *right.text();
    }
    if (node.text == "+" && left.list() != nullptr && right.list() != nullptr) {
      List both = *left.list();
      both.insert(both.end(), right.list()->begin(), right.list()->end());
      if (both.size() > static_cast<size_t>(kMostSteps)) fail_template("makes too long a list");
      return both;
    }
    const int64_t a = whole_number(left);
    const int64_t b = whole_number(right);
    const bool small = std::abs(a) <= kMostNumber && std::abs(b) <= kMostNumber;
    if (small && node.text == "+") return a + b;
    if (small && node.text == "-") return a - b;
    if (small && node.text == "*") return a * b;
    if (small && b > 0 && node.text == "%") return ((a % b) + b) % b;
    fail_template("calculates in a way that is not supported (" + node.text + ")");
  }

  static constexpr const char* kNamespace = " namespace";  // a member that no template can name
  static constexpr int64_t kMostNumber = int64_t{1} << 30;

  std::vector<Map> scopes_;
  std::string out_;
  int64_t steps_ = 0;
};

}  // namespace

std::string run_template(const Node& whole, const Map& names) {
  return Runner(names).run(whole);
}

}  // namespace penstock::jinja
