#include "runtime/data/jinja/parser.h"

#include <algorithm>
#include <initializer_list>

#include "kernels/error.h"
#include "runtime/data/jinja/lexer.h"
#include "runtime/files/json.h"

namespace penstock::jinja {
namespace {

using NodePtr = std::unique_ptr<Node>;
using Kind = Node::Kind;

constexpr int kDeepest = 200;  // open parts of a template, which take room on the stack

class Parser {
 public:
  Parser(std::string_view text, const std::string& where)
      : tokens_(tokens_of(text, where)), where_(where) {}

  NodePtr run() {
    NodePtr whole = block({});
    if (now().kind != Token::Kind::End) fail("a tag that ends nothing");
    return whole;
  }

 private:
  // Counts how deep the parser stands.
  class Deeper {
   public:
    explicit Deeper(Parser& parser) : depth_(parser.depth_) {
      if (++depth_ > kDeepest) parser.fail("parts nested too deeply");
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
  [[nodiscard]] const Token& now() const { return tokens_[at_]; }
  [[nodiscard]] const Token& ahead() const {
    return tokens_[std::min(at_ + 1, tokens_.size() - 1)];
  }
  [[nodiscard]] bool is(const char* text) const {
    return (now().kind == Token::Kind::Name || now().kind == Token::Kind::Sign) &&
           now().text == text;
  }
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
  NodePtr node(Kind kind, std::string text, Parts... parts) const {
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
        adopt(*all, node(Kind::Write, "", expression()));
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

  NodePtr statement() {
    const std::string what = name();
    if (what == "if") return condition();
    if (what == "for") return loop();
    if (what == "set") return assignment();
    if (what == "break" || what == "continue") {
      end_tag();
      return node(what == "break" ? Kind::Break : Kind::Continue, "");
    }
    if (what == "generation") {  // marks what the assistant says: written as it is
      end_tag();
      NodePtr body = block({"endgeneration"});
      at_ += 2;
      end_tag();
      return body;
    }
    fail_input(where_ + ", line " + std::to_string(now().line) + ": the tag " +
               penstock::quoted(what) + " is not supported in chat templates");
  }

  NodePtr condition() {
    const Deeper deeper(*this);
    NodePtr test = expression();
    end_tag();
    NodePtr then = block({"elif", "else", "endif"});
    ++at_;
    const std::string next = name();
    NodePtr otherwise;
    if (next == "elif") {
      otherwise = condition();
    } else if (next == "else") {
      end_tag();
      otherwise = block({"endif"});
      at_ += 2;
      end_tag();
    } else {
      end_tag();
    }
    return node(Kind::If, "", std::move(test), std::move(then), std::move(otherwise));
  }

  NodePtr loop() {
    std::vector<std::string> names = {name()};
    while (take(",")) names.push_back(name());
    want("in");
    NodePtr of = either_or();
    NodePtr only_if = take("if") ? expression() : nullptr;
    end_tag();
    NodePtr body = block({"else", "endfor"});
    ++at_;
    NodePtr otherwise;
    if (name() == "else") {
      end_tag();
      otherwise = block({"endfor"});
      at_ += 2;
    }
    end_tag();
    NodePtr made = node(Kind::For, "", std::move(of), std::move(only_if), std::move(body),
                        std::move(otherwise));
    made->names = std::move(names);
    return made;
  }

  NodePtr assignment() {
    NodePtr made = node(Kind::Set, name());
    if (take(".")) made->names.push_back(name());
    want("=");
    adopt(*made, expression());
    end_tag();
    return made;
  }

  // ---- expressions, loosest first
  NodePtr expression() {
    const Deeper deeper(*this);
    NodePtr value = either_or();
    while (take("if")) {
      NodePtr test = either_or();
      NodePtr otherwise = take("else") ? expression() : nullptr;
      value = node(Kind::Either, "", std::move(value), std::move(test), std::move(otherwise));
    }
    return value;
  }
  NodePtr either_or() {
    NodePtr left = both();
    while (take("or")) left = node(Kind::Binary, "or", std::move(left), both());
    return left;
  }
  NodePtr both() {
    NodePtr left = negation();
    while (take("and")) left = node(Kind::Binary, "and", std::move(left), negation());
    return left;
  }
  NodePtr negation() {
    const Deeper deeper(*this);
    if (is("not")) {
      ++at_;
      return node(Kind::Not, "", negation());
    }
    return comparison();
  }
  NodePtr comparison() {
    NodePtr left = sum();
    bool compared = false;
    for (;;) {
      std::string how;
      if (is("==") || is("!=") || is("<") || is(">") || is("<=") || is(">=") || is("in")) {
        how = now().text;
        ++at_;
      } else if (is("not") && ahead().text == "in") {
        how = "not in";
        at_ += 2;
      } else {
        return left;
      }
      if (compared) fail("a chain of comparisons");
      compared = true;
      left = node(Kind::Compare, how, std::move(left), sum());
    }
  }
  NodePtr sum() {
    NodePtr left = concatenation();
    while (is("+") || is("-")) {
      const std::string how = tokens_[at_++].text;
      left = node(Kind::Binary, how, std::move(left), concatenation());
    }
    return left;
  }
  NodePtr concatenation() {
    NodePtr left = product();
    while (take("~")) left = node(Kind::Binary, "~", std::move(left), product());
    return left;
  }
  NodePtr product() {
    NodePtr left = unary();
    while (is("*") || is("/") || is("//") || is("%") || is("**")) {
      const std::string how = tokens_[at_++].text;
      left = node(Kind::Binary, how, std::move(left), unary());
    }
    return left;
  }
  NodePtr unary() {
    const Deeper deeper(*this);
    if (take("-")) return node(Kind::Minus, "", unary());
    NodePtr value = behind(primary());
    for (;;) {
      if (take("|")) {
        value = with_arguments(node(Kind::Filter, name(), std::move(value)));
      } else if (take("is")) {
        const bool negated = take("not");
        value = with_arguments(node(Kind::Test, name(), std::move(value)));
        if (negated) value = node(Kind::Not, "", std::move(value));
      } else {
        return value;
      }
    }
  }
  NodePtr with_arguments(NodePtr made) {
    if (take("(")) arguments(*made);
    return made;
  }
  void arguments(Node& call) {
    while (!take(")")) {
      if (now().kind == Token::Kind::Name && ahead().text == "=" &&
          ahead().kind == Token::Kind::Sign) {
        call.names.push_back(name());
        ++at_;
      } else if (!call.names.empty()) {
        fail("an argument without a name behind one with a name");
      }
      adopt(call, expression());
      if (!is(")")) want(",");
    }
  }
  // Members and calls.
  NodePtr behind(NodePtr value) {
    for (;;) {
      if (take(".")) {
        NodePtr key = node(Kind::String, name());
        value = node(Kind::Member, ".", std::move(value), std::move(key));
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
  NodePtr subscript(NodePtr of) {
    NodePtr from = is(":") ? nullptr : expression();
    if (take("]")) return node(Kind::Member, "[]", std::move(of), std::move(from));
    want(":");
    NodePtr to = is(":") || is("]") ? nullptr : expression();
    NodePtr step = take(":") && !is("]") ? expression() : nullptr;
    want("]");
    return node(Kind::Slice, "", std::move(of), std::move(from), std::move(to), std::move(step));
  }
  NodePtr primary() {
    const Token token = now();
    if (token.kind == Token::Kind::String) {
      std::string text;
      for (; now().kind == Token::Kind::String; ++at_) text += now().text;
      return node(Kind::String, std::move(text));
    }
    if (token.kind == Token::Kind::Number || token.kind == Token::Kind::Name) {
      ++at_;
      return node(token.kind == Token::Kind::Name ? Kind::Name : Kind::Number, token.text);
    }
    if (take("(")) {
      NodePtr inside = expression();
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

  std::vector<Token> tokens_;
  const std::string& where_;
  size_t at_ = 0;
  int depth_ = 0;
};

}  // namespace

std::unique_ptr<Node> parse_template(std::string_view text, const std::string& where) {
  constexpr size_t kLongest = size_t{1} << 18;
  if (text.size() > kLongest) fail_input(where + ": the chat template is longer than 256 KiB");
  return Parser(text, where).run();
}

}  // namespace penstock::jinja
