#include "runtime/data/jinja/parser.h"

#include <algorithm>
#include <initializer_list>

#include "kernels/error.h"
#include "runtime/data/jinja/expressions.h"

namespace penstock::jinja {
namespace {

using Kind = Node::Kind;

class Parser : private ExpressionReader {
 public:
  Parser(std::string_view text, const std::string& where) : ExpressionReader(text, where) {}

  NodePtr run() {
    NodePtr whole = block({});
    if (now().kind != Token::Kind::End) fail("a tag that ends nothing");
    return whole;
  }

 private:
  void end_tag() {
    if (now().kind != Token::Kind::TagEnd) fail("the tag goes on where it should end");
    ++at_;
  }
  [[nodiscard]] bool tag_is(const char* text) const {
    return now().kind == Token::Kind::TagBegin && ahead().kind == Token::Kind::Name &&
           ahead().text == text;
  }

  // Up to a tag of these names, which is left.
  NodePtr block(std::initializer_list<const char*> ends) {
    const Deeper deeper(*this);
    NodePtr all = node(Kind::Block, "");
    while (now().kind != Token::Kind::End) {
      if (std::ranges::any_of(ends, [&](const char* end) { return tag_is(end); })) return all;
      if (now().kind == Token::Kind::Text) {
        adopt(*all, node(Kind::Text, now().text));
        ++at_;
      } else if (now().kind == Token::Kind::WriteBegin) {
        ++at_;
        adopt(*all, node(Kind::Write, "", tuple_or_one(true)));
        if (now().kind != Token::Kind::WriteEnd) fail("an expression goes on where it should end");
        ++at_;
      } else if (ends.size() == 0 && ahead().text.starts_with("end")) {
        return all;
      } else {
        ++at_;
        adopt(*all, statement());
      }
    }
    if (ends.size() > 0) fail("'" + std::string(*(ends.end() - 1)) + "' is missing");
    return all;
  }

  // The rest of the tag is read; up to the tag `end`, itself included.
  NodePtr body_to(const char* end) {
    end_tag();
    NodePtr body = block({end});
    at_ += 2;
    end_tag();
    return body;
  }
  // Likewise where names are the body's own, and no loop around it can be left from it.
  NodePtr closed_body_to(const char* end) {
    const int loops = std::exchange(loops_, 0);
    NodePtr body = body_to(end);
    loops_ = loops;
    return body;
  }

  NodePtr statement() {
    const std::string what = name();
    if (what == "if") return condition();
    if (what == "for") return loop();
    if (what == "set") return assignment();
    if (what == "macro") return macro();
    if (what == "call") return call_block();
    if (what == "with") return with();
    if (what == "filter") {
      NodePtr made = node(Kind::Filtered, "", captured_through_filters());
      adopt(*made, body_to("endfilter"));
      return made;
    }
    if (what == "autoescape") {
      NodePtr whether = expression();
      return node(Kind::Escaping, "", std::move(whether), body_to("endautoescape"));
    }
    if (what == "break" || what == "continue") {
      if (loops_ == 0) fail("'" + what + "' outside of a loop");
      end_tag();
      return node(what == "break" ? Kind::Break : Kind::Continue, "");
    }
    if (what == "generation") {  // marks what the assistant says: written as it is
      return node(Kind::Scoped, "", closed_body_to("endgeneration"));
    }
    unsupported("the tag " + penstock::quoted(what));
  }

  // "name(arguments) | name": what a filter or {% set x | name %} makes of the text of its body.
  NodePtr captured_through_filters() {
    NodePtr first = node(Kind::Filter, name(), node(Kind::Captured, ""));
    if (take("(")) arguments(*first);
    return filters(std::move(first));
  }

  NodePtr condition() {
    const Deeper deeper(*this);
    NodePtr test = tuple_or_one(false);
    end_tag();
    NodePtr then = block({"elif", "else", "endif"});
    ++at_;
    const std::string next = name();
    NodePtr otherwise;
    if (next == "elif") {
      otherwise = condition();
    } else if (next == "else") {
      otherwise = body_to("endif");
    } else {
      end_tag();
    }
    return node(Kind::If, "", std::move(test), std::move(then), std::move(otherwise));
  }

  NodePtr target() {
    const Deeper deeper(*this);
    const auto one = [&]() -> NodePtr {
      if (take("(")) {
        NodePtr inside = target();
        want(")");
        return inside;
      }
      const std::string text = name();
      if (text == "true" || text == "false" || text == "none") fail("a value takes no value");
      return node(Kind::Name, text);
    };
    NodePtr first = one();
    if (!is(",")) return first;
    NodePtr all = node(Kind::Items, "", std::move(first));
    while (take(",")) {
      if (is("in") || is("=") || is(")")) break;
      adopt(*all, one());
    }
    return all;
  }

  NodePtr loop() {
    NodePtr names = target();
    want("in");
    NodePtr of = tuple_or_one(false);
    NodePtr only_if = take("if") ? expression() : nullptr;
    const bool recursive = take("recursive");
    end_tag();
    ++loops_;
    NodePtr body = block({"else", "endfor"});
    --loops_;
    ++at_;
    NodePtr otherwise;
    if (name() == "else") {
      otherwise = body_to("endfor");
    } else {
      end_tag();
    }
    return node(Kind::For, recursive ? "recursive" : "", std::move(names), std::move(of),
                std::move(only_if), std::move(body), std::move(otherwise));
  }

  NodePtr assignment() {
    NodePtr to;
    if (now().kind == Token::Kind::Name && says(ahead(), ".")) {
      NodePtr space = node(Kind::Name, name());
      ++at_;
      to = node(Kind::Member, "", std::move(space), node(Kind::String, name()));
    } else {
      to = target();
    }
    if (take("=")) {
      NodePtr made = node(Kind::Set, "", std::move(to), tuple_or_one(true));
      end_tag();
      return made;
    }
    NodePtr through = take("|") ? captured_through_filters() : nullptr;
    NodePtr body = body_to("endset");
    return node(Kind::SetBlock, "", std::move(to), std::move(body), std::move(through));
  }

  // "(a, b=1)", into names and, behind the body that comes first, values.
  void parameters(Node& made) {
    want("(");
    while (!take(")")) {
      made.names.push_back(name());
      if (take("=")) {
        adopt(made, expression());
      } else if (made.parts.size() > 1) {
        fail("a parameter without a value behind one with a value");
      }
      if (!is(")")) want(",");
    }
  }

  NodePtr macro() {
    const Deeper deeper(*this);
    NodePtr made = node(Kind::Macro, name());
    made->parts.emplace_back();
    parameters(*made);
    macro_body(*made, "endmacro");
    return made;
  }
  void macro_body(Node& made, const char* end) {
    const bool named_before = std::exchange(names_caller_, false);
    NodePtr body = closed_body_to(end);
    made.calls_caller = std::exchange(names_caller_, named_before);
    made.depth = std::max(made.depth, body->depth + 1);
    made.parts[0] = std::move(body);
  }

  NodePtr call_block() {
    const Deeper deeper(*this);
    NodePtr inside = node(Kind::Macro, "caller");
    inside->parts.emplace_back();
    if (is("(")) parameters(*inside);
    NodePtr call = expression();
    if (call->kind != Kind::Call) fail("'call' without a call");
    macro_body(*inside, "endcall");
    return node(Kind::CallBlock, "", std::move(call), std::move(inside));
  }

  NodePtr with() {
    NodePtr made = node(Kind::Scoped, "");
    while (now().kind != Token::Kind::TagEnd) {
      if (!made->parts.empty()) want(",");
      adopt(*made, target());
      want("=");
      adopt(*made, expression());
    }
    adopt(*made, body_to("endwith"));
    return made;
  }

  int loops_ = 0;  // that a `break` here would leave
};

}  // namespace

std::unique_ptr<Node> parse_template(std::string_view text, const std::string& where) {
  constexpr size_t kLongest = size_t{1} << 18;
  if (text.size() > kLongest) fail_input(where + ": the chat template is longer than 256 KiB");
  return Parser(text, where).run();
}

}  // namespace penstock::jinja
