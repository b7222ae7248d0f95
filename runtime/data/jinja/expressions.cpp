// One function for each strength of operators, from the loosest to the tightest, as Jinja's own
// parser has them.
#include "runtime/data/jinja/expressions.h"

#include <array>
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

NodePtr ExpressionReader::tuple_or_one(bool with_if) {
  NodePtr first = with_if ? expression() : either_or();
  if (!is(",")) return first;
  NodePtr tuple = node(Kind::Tuple, "", std::move(first));
  while (take(",")) {
    const bool ends = now().kind == Token::Kind::TagEnd || now().kind == Token::Kind::WriteEnd ||
                      is(")") || is("=") || is("in") || is("recursive");
    if (ends) break;
    adopt(*tuple, with_if ? expression() : either_or());
  }
  return tuple;
}

NodePtr ExpressionReader::either_or() {
  NodePtr left = both();
  while (take("or")) left = node(Kind::Or, "", std::move(left), both());
  return left;
}
NodePtr ExpressionReader::both() {
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
  value = behind(std::move(value));
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
      value = behind(std::move(value));
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
    adopt(*made, behind(primary()));
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

// Members and calls.
NodePtr ExpressionReader::behind(NodePtr value) {
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

}  // namespace penstock::jinja
