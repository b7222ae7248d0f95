// One function for each strength of operators, from the loosest to the tightest.
#include "runtime/data/jinja/expressions.h"

#include <utility>

namespace penstock::jinja {

using Kind = Node::Kind;

NodePtr ExpressionReader::expression() {
  const Deeper deeper(*this);
  NodePtr value = either_or();
  while (take("if")) {
    NodePtr test = either_or();
    NodePtr otherwise = take("else") ? expression() : nullptr;
    value = node(Kind::Either, "", std::move(value), std::move(test), std::move(otherwise));
  }
  return value;
}
NodePtr ExpressionReader::either_or() {
  NodePtr left = both();
  while (take("or")) left = node(Kind::Binary, "or", std::move(left), both());
  return left;
}
NodePtr ExpressionReader::both() {
  NodePtr left = negation();
  while (take("and")) left = node(Kind::Binary, "and", std::move(left), negation());
  return left;
}
NodePtr ExpressionReader::negation() {
  const Deeper deeper(*this);
  if (is("not")) {
    ++at_;
    return node(Kind::Not, "", negation());
  }
  return comparison();
}
NodePtr ExpressionReader::comparison() {
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
NodePtr ExpressionReader::sum() {
  NodePtr left = concatenation();
  while (is("+") || is("-")) {
    const std::string how = tokens_[at_++].text;
    left = node(Kind::Binary, how, std::move(left), concatenation());
  }
  return left;
}
NodePtr ExpressionReader::concatenation() {
  NodePtr left = product();
  while (take("~")) left = node(Kind::Binary, "~", std::move(left), product());
  return left;
}
NodePtr ExpressionReader::product() {
  NodePtr left = unary();
  while (is("*") || is("/") || is("//") || is("%") || is("**")) {
    const std::string how = tokens_[at_++].text;
    left = node(Kind::Binary, how, std::move(left), unary());
  }
  return left;
}
NodePtr ExpressionReader::unary() {
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
NodePtr ExpressionReader::with_arguments(NodePtr made) {
  if (take("(")) arguments(*made);
  return made;
}
void ExpressionReader::arguments(Node& call) {
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
NodePtr ExpressionReader::behind(NodePtr value) {
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
NodePtr ExpressionReader::subscript(NodePtr of) {
  NodePtr from = is(":") ? nullptr : expression();
  if (take("]")) return node(Kind::Member, "[]", std::move(of), std::move(from));
  want(":");
  NodePtr to = is(":") || is("]") ? nullptr : expression();
  NodePtr step = take(":") && !is("]") ? expression() : nullptr;
  want("]");
  return node(Kind::Slice, "", std::move(of), std::move(from), std::move(to), std::move(step));
}
NodePtr ExpressionReader::primary() {
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

}  // namespace penstock::jinja
