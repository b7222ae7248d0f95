// runtime/data/parts/no_expression.cpp -- stands for words/expression.cpp in a build without PCRE2.
#include "runtime/data/parts/part.h"
#include "runtime/data/words/expression.h"

namespace penstock {

struct Expression::Compiled {};

std::string expression_library() {
  return {};
}

Expression::Expression(const Pattern& /*pattern*/, const std::string& where) {
  fail_without(kPcre2, "the tokenizer " + where);
}

// There is no object of the class to ask for these.
Expression::~Expression() = default;
Expression::Expression(Expression&&) noexcept = default;
Expression& Expression::operator=(Expression&&) noexcept = default;

void Expression::for_each_match(std::string_view /*text*/,
                                const std::function<void(size_t, size_t)>& /*take*/) const {
  fail_without(kPcre2, "a tokenizer");
}

}  // namespace penstock
