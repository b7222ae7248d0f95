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

 private:
  NodePtr both();
  NodePtr negation();
  NodePtr comparison();
  NodePtr sum();
  NodePtr concatenation();
  NodePtr product();
  NodePtr unary();
  NodePtr with_arguments(NodePtr made);
  void arguments(Node& call);
  NodePtr behind(NodePtr value);
  NodePtr subscript(NodePtr of);
  NodePtr primary();
};

}  // namespace penstock::jinja
