#include "runtime/data/tokenizer/steps/normalizer.h"

#include <utility>

#include "kernels/error.h"
#include "runtime/data/tokenizer/steps/byte_alphabet.h"
#include "runtime/data/tokenizer/utf8.h"

namespace penstock {
namespace {

std::string_view stripped(std::string_view text, bool left, bool right) {
  const size_t begin = left ? space_end(text, 0) : 0;
  const size_t end = right ? space_begin(text, text.size()) : text.size();
  return begin < end ? text.substr(begin, end - begin) : std::string_view();
}

std::string replaced_matches(std::string_view text, const Expression& expression,
                             const std::string& by, bool& from_start) {
  std::string out;
  size_t done = 0;
  expression.for_each_match(text, [&](size_t begin, size_t end) {
    out += text.substr(done, begin - done);
    if (by.empty() && out.empty()) from_start = false;
    out += by;
    done = end;
  });
  return out += text.substr(done);
}

std::string in_byte_alphabet(std::string_view text) {
  std::string word;
  for (const char c : text) append_utf8(word, character_of_byte(static_cast<uint8_t>(c)));
  return word;
}

}  // namespace

Normalizer::Normalizer(std::vector<NormalStep> steps, const std::string& where) {
  for (NormalStep& what : steps) {
    Step step{std::move(what), std::nullopt};
    if (step.what.kind == NormalStep::Kind::Replace) {
      step.expression.emplace(step.what.pattern, where);
    }
    steps_.push_back(std::move(step));
  }
}

std::string_view Normalizer::apply(std::string_view text, Ends ends, std::string& storage,
                                   bool& from_start) const {
  using Kind = NormalStep::Kind;
  const auto keep = [&](std::string changed) {
    storage = std::move(changed);
    text = storage;
  };
  for (const auto& [step, expression] : steps_) {
    switch (step.kind) {
      case Kind::Form:
        text = normal_form(text, step.form, storage);
        break;
      case Kind::Lowercase:
        keep(lower_case(text));
        break;
      case Kind::Strip: {
        const std::string_view left =
            stripped(text, step.left && ends.left, step.right && ends.right);
        from_start = from_start && left.data() == text.data();
        keep(std::string(left));
        break;
      }
      case Kind::StripAccents: {
        std::string left = without_marks(text);
        from_start = from_start && left.substr(0, 1) == text.substr(0, 1);
        keep(std::move(left));
        break;
      }
      case Kind::Replace:
        keep(replaced_matches(text, *expression, step.text, from_start));
        break;
      case Kind::Prepend:
        if (!text.empty() && ends.left) keep(step.text + std::string(text));
        break;
      case Kind::Bytes:
        keep(in_byte_alphabet(text));
        break;
    }
  }
  return text;
}

}  // namespace penstock
