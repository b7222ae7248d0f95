// runtime/data/jinja/expressions.h -- the trees of expressions.
#pragma once

#include <memory>
#include <string>

#include "runtime/data/jinja/token_reader.h"

namespace penstock::jinja {

class ExpressionReader : protected TokenReader {
 protected:
  using TokenReader::TokenReader;

  NodePtr expression();
  NodePtr either_or();  // without `if` behind it
  // Expressions with commas between them are a tuple, as {{ 1, 2 }} and {% set x = 1, 2 %}.
  NodePtr tuple_or_one(bool with_if);
  // Filters behind `value`: "| trim | upper".
  NodePtr filters(NodePtr value);
  void arguments(Node& call);  // behind "("

  bool names_caller_ = false;  // whether any expression so far has named "caller"

 private:
  NodePtr both();
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
  NodePtr behind(NodePtr value);
  NodePtr subscript(NodePtr of);
  NodePtr primary();
  NodePtr named();
};

}  // namespace penstock::jinja
