#include "runtime/data/templates/syntax/parser.h"

#include <algorithm>
#include <array>
#include <initializer_list>
#include <utility>

#include "kernels/error.h"
#include "runtime/data/templates/syntax/lexer.h"
#include "runtime/system/files/json.h"

namespace penstock::jinja {
namespace {

using NodePtr = std::unique_ptr<Node>;
using Kind = Node::Kind;

// Reads the tokens of a template one after the other, and makes the nodes of its tree.
class TokenReader {
 protected:
  // `where` names the template in messages. It must live as long as the reader.
  TokenReader(std::string_view text, const std::string& where)
      : tokens_(tokens_of(text, where)), where_(where) {}

  // Counts how many parts of the template are open, nested in each other, and refuses more than
  // kDeepest.
  class Deeper {
   public:
    explicit Deeper(TokenReader& reader) : depth_(reader.depth_) {
      if (++depth_ > kDeepest) reader.fail("parts nested too deeply");
    }
    ~Deeper() { --depth_; }
    Deeper(const Deeper&) = delete;
    Deeper& operator=(const Deeper&) = delete;

   private:
    int& depth_;
  };

  [[noreturn]] void fail(const std::string& what) const {
    fail_data(where_ + ", line " + std::to_string(now().line) + ": " + what);
  }
  [[noreturn]] void unsupported(const std::string& what) const {
    fail_input(where_ + ", line " + std::to_string(now().line) + ": " + what +
               " is not supported in chat templates");
  }
  [[nodiscard]] const Token& now() const { return tokens_[at_]; }
  [[nodiscard]] const Token& ahead() const {
    return tokens_[std::min(at_ + 1, tokens_.size() - 1)];
  }
  [[nodiscard]] static bool says(const Token& token, const char* text) {
    return (token.kind == Token::Kind::Name || token.kind == Token::Kind::Sign) &&
           token.text == text;
  }
  [[nodiscard]] bool is(const char* text) const { return says(now(), text); }
  bool take(const char* text) {
    if (!is(text)) return false;
    ++at_;
    return true;
  }
  void want(const char* text) {
    if (!take(text)) fail("'" + std::string(text) + "' is missing");
  }
  std::string name() {
    if (now().kind != Token::Kind::Name) fail("a name is missing");
    return tokens_[at_++].text;
  }
  template <class... Parts>
  NodePtr node(Node::Kind kind, std::string text, Parts... parts) const {
    auto made = std::make_unique<Node>();
    made->kind = kind;
    made->line = now().line;
    made->text = std::move(text);
    (adopt(*made, std::move(parts)), ...);
    return made;
  }
  void adopt(Node& node, NodePtr part) const {
    if (part) node.depth = std::max(node.depth, part->depth + 1);
    if (node.depth > kDeepest) fail("parts nested too deeply");
    node.parts.push_back(std::move(part));
  }

  static constexpr int kDeepest = 200;  // most parts nested in each other: each takes stack memory

  std::vector<Token> tokens_;
  const std::string& where_;
  size_t at_ = 0;
  int depth_ = 0;
};

// Parses expressions. There is a function for each precedence of operators, from the loosest to the
// tightest, as in Jinja's own parser.
class ExpressionReader : protected TokenReader {
 protected:
  using TokenReader::TokenReader;

  NodePtr expression();
  NodePtr or_expression();  // parses an expression without a conditional `if` behind it
  // Parses an expression, or several with commas between them, which become a tuple, as in {{ 1, 2
  // }}. If `with_if`, each expression may have a conditional `if`.
  NodePtr tuple_or_one(bool with_if);
  // Parses the filters behind `value`, for example "| trim | upper".
  NodePtr filters(NodePtr value);
  void arguments(Node& call);  // parses arguments, beginning behind the "("

  bool names_caller_ = false;  // whether any expression so far has named "caller"

 private:
  NodePtr and_expression();
  NodePtr negation();
  NodePtr comparison();
  NodePtr sum();
  NodePtr concatenation();
  NodePtr product();
  NodePtr power();
  NodePtr unary(bool with_filters);
  NodePtr filters_and_tests(NodePtr value);
  NodePtr test(NodePtr of);
  NodePtr with_arguments(NodePtr made);
  NodePtr postfix(NodePtr value);
  NodePtr subscript(NodePtr of);
  NodePtr primary();
  NodePtr named();
};

NodePtr ExpressionReader::expression() {
  const Deeper deeper(*this);
  NodePtr value = or_expression();
  while (take("if")) {
    NodePtr test = or_expression();
    NodePtr otherwise = take("else") ? expression() : nullptr;
    value = node(Kind::Either, "", std::move(value), std::move(test), std::move(otherwise));
  }
  return value;
}

NodePtr ExpressionReader::tuple_or_one(bool with_if) {
  NodePtr first = with_if ? expression() : or_expression();
  if (!is(",")) return first;
  NodePtr tuple = node(Kind::Tuple, "", std::move(first));
  while (take(",")) {
    const bool ends = now().kind == Token::Kind::TagEnd || now().kind == Token::Kind::WriteEnd ||
                      is(")") || is("=") || is("in") || is("recursive");
    if (ends) break;
    adopt(*tuple, with_if ? expression() : or_expression());
  }
  return tuple;
}

NodePtr ExpressionReader::or_expression() {
  NodePtr left = and_expression();
  while (take("or")) left = node(Kind::Or, "", std::move(left), and_expression());
  return left;
}
NodePtr ExpressionReader::and_expression() {
  NodePtr left = negation();
  while (take("and")) left = node(Kind::And, "", std::move(left), negation());
  return left;
}
NodePtr ExpressionReader::negation() {
  const Deeper deeper(*this);
  if (take("not")) return node(Kind::Not, "", negation());
  return comparison();
}

NodePtr ExpressionReader::comparison() {
  constexpr std::array kOperators = {"==", "!=", "<", ">", "<=", ">=", "in"};
  NodePtr left = sum();
  NodePtr chain;
  for (;;) {
    std::string how;
    if (is("not") && says(ahead(), "in")) {
      how = "not in";
      ++at_;
    } else if (std::ranges::any_of(kOperators, [&](const char* one) { return is(one); })) {
      how = now().text;
    } else {
      return chain ? std::move(chain) : std::move(left);
    }
    ++at_;
    if (!chain) chain = node(Kind::Compare, "", std::move(left));
    chain->names.push_back(how);
    adopt(*chain, sum());
  }
}

NodePtr ExpressionReader::sum() {
  NodePtr left = concatenation();
  while (is("+") || is("-")) {
    const std::string how = tokens_[at_++].text;
    left = node(Kind::Binary, how, std::move(left), concatenation());
  }
  return left;
}
NodePtr ExpressionReader::concatenation() {
  NodePtr first = product();
  if (!is("~")) return first;
  NodePtr joined = node(Kind::Joined, "", std::move(first));
  while (take("~")) adopt(*joined, product());
  return joined;
}
NodePtr ExpressionReader::product() {
  NodePtr left = power();
  while (is("*") || is("/") || is("//") || is("%")) {
    const std::string how = tokens_[at_++].text;
    left = node(Kind::Binary, how, std::move(left), power());
  }
  return left;
}
NodePtr ExpressionReader::power() {
  NodePtr left = unary(true);
  while (take("**")) left = node(Kind::Binary, "**", std::move(left), unary(true));
  return left;
}

NodePtr ExpressionReader::unary(bool with_filters) {
  const Deeper deeper(*this);
  NodePtr value;
  if (take("-")) {
    value = node(Kind::Minus, "", unary(false));
  } else if (take("+")) {
    value = node(Kind::Plus, "", unary(false));
  } else {
    value = primary();
  }
  value = postfix(std::move(value));
  return with_filters ? filters_and_tests(std::move(value)) : std::move(value);
}

NodePtr ExpressionReader::filters(NodePtr value) {
  while (take("|")) value = with_arguments(node(Kind::Filter, name(), std::move(value)));
  return value;
}

NodePtr ExpressionReader::filters_and_tests(NodePtr value) {
  for (;;) {
    if (is("|")) {
      value = filters(std::move(value));
    } else if (take("is")) {
      value = test(std::move(value));
    } else if (is("(")) {
      value = postfix(std::move(value));
    } else {
      return value;
    }
  }
}

NodePtr ExpressionReader::test(NodePtr of) {
  const bool negated = take("not");
  NodePtr made = node(Kind::Test, name(), std::move(of));
  const Token& next = now();
  const bool word = next.kind == Token::Kind::Name && !is("else") && !is("or") && !is("and");
  if (is("(")) {
    made = with_arguments(std::move(made));
  } else if (word || next.kind == Token::Kind::String || next.kind == Token::Kind::Whole ||
             next.kind == Token::Kind::Real || is("[") || is("{")) {
    if (is("is")) fail("a test behind a test");
    adopt(*made, postfix(primary()));
  }
  return negated ? node(Kind::Not, "", std::move(made)) : std::move(made);
}

NodePtr ExpressionReader::with_arguments(NodePtr made) {
  if (take("(")) arguments(*made);
  return made;
}

void ExpressionReader::arguments(Node& call) {
  while (!take(")")) {
    if (is("*") || is("**")) unsupported("an argument of several (" + now().text + ")");
    if (now().kind == Token::Kind::Name && says(ahead(), "=")) {
      call.names.push_back(name());
      ++at_;
    } else if (!call.names.empty()) {
      fail("an argument without a name behind one with a name");
    }
    adopt(call, expression());
    if (!is(")")) want(",");
  }
}

// Parses the members, items and calls that follow a value, for example "a.b", "a[0]" and "a(1)".
NodePtr ExpressionReader::postfix(NodePtr value) {
  for (;;) {
    if (take(".")) {
      const bool number = now().kind == Token::Kind::Whole;
      NodePtr key = node(number ? Kind::Whole : Kind::String, number ? now().text : name());
      if (number) ++at_;
      value = node(number ? Kind::Item : Kind::Member, "", std::move(value), std::move(key));
    } else if (take("[")) {
      value = subscript(std::move(value));
    } else if (take("(")) {
      value = node(Kind::Call, "", std::move(value));
      arguments(*value);
    } else {
      return value;
    }
  }
}

NodePtr ExpressionReader::subscript(NodePtr of) {
  NodePtr from = is(":") ? nullptr : expression();
  if (take("]")) return node(Kind::Item, "", std::move(of), std::move(from));
  want(":");
  NodePtr to = is(":") || is("]") ? nullptr : expression();
  NodePtr step = take(":") && !is("]") ? expression() : nullptr;
  want("]");
  return node(Kind::Slice, "", std::move(of), std::move(from), std::move(to), std::move(step));
}

NodePtr ExpressionReader::named() {
  const std::string text = name();
  if (text == "true" || text == "True") return node(Kind::Constant, "true");
  if (text == "false" || text == "False") return node(Kind::Constant, "false");
  if (text == "none" || text == "None") return node(Kind::Constant, "none");
  if (text == "caller") names_caller_ = true;
  if (text == "varargs" || text == "kwargs") unsupported("the name " + text);
  return node(Kind::Name, text);
}

NodePtr ExpressionReader::primary() {
  const Token token = now();
  if (token.kind == Token::Kind::String) {
    std::string text;
    for (; now().kind == Token::Kind::String; ++at_) text += now().text;
    return node(Kind::String, std::move(text));
  }
  if (token.kind == Token::Kind::Name) return named();
  if (token.kind == Token::Kind::Whole || token.kind == Token::Kind::Real) {
    ++at_;
    return node(token.kind == Token::Kind::Whole ? Kind::Whole : Kind::Real, token.text);
  }
  if (take("(")) {
    if (take(")")) return node(Kind::Tuple, "");
    NodePtr inside = tuple_or_one(true);
    want(")");
    return inside;
  }
  if (take("[")) {
    NodePtr list = node(Kind::Items, "");
    while (!take("]")) {
      adopt(*list, expression());
      if (!is("]")) want(",");
    }
    return list;
  }
  if (take("{")) {
    NodePtr map = node(Kind::Pairs, "");
    while (!take("}")) {
      adopt(*map, expression());
      want(":");
      adopt(*map, expression());
      if (!is("}")) want(",");
    }
    return map;
  }
  fail("an expression is missing");
}

// Parses a whole template, statement by statement.
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

  // Parses up to a tag that has one of the names `ends`. That tag stays unread.
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

  // Returns the body that stands between the present tag and the tag `end`. Parses the rest of the
  // present tag, the body, and the tag `end`.
  NodePtr body_to(const char* end) {
    end_tag();
    NodePtr body = block({end});
    at_ += 2;
    end_tag();
    return body;
  }
  // Returns a body as body_to() does, for a body with names of its own. A break or continue in such
  // a body cannot end a loop around the body.
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
    if (what == "generation") {  // marks the assistant's words without changing them
      return node(Kind::Scoped, "", closed_body_to("endgeneration"));
    }
    unsupported("the tag " + penstock::quoted(what));
  }

  // Parses the filters that {% filter %} and {% set x | name %} apply to the text of their body.
  // They are written as "name(arguments) | name".
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

  // Parses parameters such as "(a, b=1)". The names are added to `names`. The values are added to
  // `parts`, behind the place of the body, which is the first part.
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

  int loops_ = 0;  // how many loops a `break` at this place could leave
};

}  // namespace

std::unique_ptr<Node> parse_template(std::string_view text, const std::string& where) {
  constexpr size_t kLongest = size_t{1} << 18;
  if (text.size() > kLongest) fail_input(where + ": the chat template is longer than 256 KiB");
  return Parser(text, where).run();
}

}  // namespace penstock::jinja
