#include "runtime/data/tokenizer/steps/expression.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <array>

#include "kernels/error.h"
#include "runtime/data/tokenizer/steps/syntax.h"
#include "runtime/system/files/json.h"

namespace penstock {
namespace {

struct FreeCode {
  void operator()(pcre2_code* code) const { pcre2_code_free(code); }
  void operator()(pcre2_match_data* data) const { pcre2_match_data_free(data); }
  void operator()(pcre2_match_context* context) const { pcre2_match_context_free(context); }
  void operator()(pcre2_jit_stack* stack) const { pcre2_jit_stack_free(stack); }
  void operator()(pcre2_compile_context* context) const { pcre2_compile_context_free(context); }
};
template <class T>
using Owned = std::unique_ptr<T, FreeCode>;

std::string words_of(int error) {
  std::array<PCRE2_UCHAR, 256> text{};
  pcre2_get_error_message(error, text.data(), text.size());
  return reinterpret_cast<const char*>(text.data());
}

// Returns an expression that matches this text and nothing else.
std::string escaped(const std::string& text) {
  std::string form;
  for (const char c : text) {
    const bool plain = static_cast<uint8_t>(c) >= 0x80 || c == ' ' || c == '_' ||
                       (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    if (!plain) form += '\\';
    form += c;
  }
  return form;
}

std::string pcre2_form_of(const Pattern& pattern, const std::string& where) {
  if (pattern.kind == Pattern::Kind::Theirs) return pcre2_form(pattern.text, where);
  return pattern.kind == Pattern::Kind::Text ? escaped(pattern.text) : pattern.text;
}

}  // namespace

std::string expression_library() {
  std::array<char, 64> version{};  // for example "10.42 2022-12-11"
  (void)pcre2_config(PCRE2_CONFIG_VERSION, version.data());
  return std::string("PCRE2 ") + version.data();
}

struct Expression::Compiled {
  std::string pattern, where;
  Owned<pcre2_code> code;

  void compile(const std::string& form) {
    int error = 0;
    size_t place = 0;
    code.reset(pcre2_compile(reinterpret_cast<PCRE2_SPTR>(form.data()), form.size(),
                             PCRE2_UTF | PCRE2_UCP, &error, &place, nullptr));
    if (!code) {
      fail_data(where + ": " + penstock::quoted(pattern) +
                " is no regular expression: " + words_of(error));
    }
    // A failure is ignored. If PCRE2 cannot compile for this processor, it interprets the
    // expression instead, and finds the same matches.
    (void)pcre2_jit_compile(code.get(), PCRE2_JIT_COMPLETE);
  }
};

Expression::Expression(const Pattern& pattern, const std::string& where)
    : compiled_(std::make_unique<Compiled>()) {
  compiled_->pattern = pattern.text;
  compiled_->where = where;
  compiled_->compile(pcre2_form_of(pattern, where));
}

Expression::~Expression() = default;
Expression::Expression(Expression&&) noexcept = default;
Expression& Expression::operator=(Expression&&) noexcept = default;

void Expression::for_each_match(std::string_view text,
                                const std::function<void(size_t, size_t)>& take) const {
  const pcre2_code* const code = compiled_->code.get();
  const Owned<pcre2_match_data> found(pcre2_match_data_create(1, nullptr));
  const Owned<pcre2_match_context> context(pcre2_match_context_create(nullptr));
  Owned<pcre2_jit_stack> stack;  // made only if PCRE2's own small stack is not enough
  for (size_t at = 0; at < text.size();) {
    const int status = pcre2_match(code, reinterpret_cast<PCRE2_SPTR>(text.data()), text.size(), at,
                                   PCRE2_NO_UTF_CHECK, found.get(), context.get());
    if (status == PCRE2_ERROR_NOMATCH) return;
    if (status == PCRE2_ERROR_JIT_STACKLIMIT && !stack) {
      stack.reset(pcre2_jit_stack_create(size_t{1} << 16, size_t{64} << 20, nullptr));
      pcre2_jit_stack_assign(context.get(), nullptr, stack.get());
      continue;
    }
    const PCRE2_SIZE* const range = pcre2_get_ovector_pointer(found.get());
    if (status < 0 || range[1] <= range[0]) {
      const std::string why = status < 0 ? words_of(status) : "it matches where nothing is";
      fail_data(compiled_->where + ": the expression " + penstock::quoted(compiled_->pattern) +
                " cannot cut a text of " + std::to_string(text.size()) + " bytes: " + why);
    }
    take(range[0], range[1]);
    at = range[1];
  }
}

}  // namespace penstock
