// runtime/data/tokenizer/steps/normalizer.h -- Normalizer: what a tokenizer.json does to a text
// before it is cut into words.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/data/tokenizer/steps/expression.h"
#include "runtime/data/tokenizer/steps/normal_form.h"

namespace penstock {

struct NormalStep {
  enum class Kind : uint8_t {
    Form,  // `form`
    Lowercase,
    Strip,         // white space, on the sides `left` and `right`
    StripAccents,  // all combining marks
    Replace,       // each `pattern` by `text`
    Prepend,       // `text`, where there is any
    Bytes,         // each byte by its character of the byte alphabet (byte_alphabet.h)
  };
  Kind kind = Kind::Form;
  NormalForm form = NormalForm::C;
  bool left = false, right = false;
  Pattern pattern = {};
  std::string text = {};
};

class Normalizer {
 public:
  // Throws as Expression does; `where` names the file.
  Normalizer(std::vector<NormalStep> steps, const std::string& where);

  // The text after all steps, in `storage` where it is another one. `text` is valid UTF-8. Clears
  // `from_start` where something was taken away at its beginning: what is left begins later.
  [[nodiscard]] std::string_view apply(std::string_view text, std::string& storage,
                                       bool& from_start) const;

 private:
  struct Step {
    NormalStep what;
    std::optional<Expression> expression;
  };
  std::vector<Step> steps_;
};

}  // namespace penstock
