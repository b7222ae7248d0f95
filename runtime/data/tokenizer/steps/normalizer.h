// runtime/data/tokenizer/steps/normalizer.h -- Normalizer: changes a text before it is cut into
// words, by the steps of the part "normalizer" of a tokenizer.json.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/data/tokenizer/steps/expression.h"
#include "runtime/data/tokenizer/steps/normal_form.h"

namespace penstock {

// One step; its kind says which of the other members count.
struct NormalStep {
  enum class Kind : uint8_t {
    Form,  // brings the text to the normal form `form` (Unicode)
    Lowercase,
    Strip,         // removes white space on the sides `left` and `right`
    StripAccents,  // removes all combining marks
    Replace,       // each match of `pattern` becomes `text`
    Prepend,       // puts `text` before a text that is not empty
    Bytes,         // each byte becomes its character of the byte alphabet (byte_alphabet.h)
  };
  Kind kind = Kind::Form;
  NormalForm form = NormalForm::C;
  bool left = false, right = false;
  Pattern pattern = {};
  std::string text = {};
};

class Normalizer {
 public:
  // Compiles the patterns of the steps. Throws Error(Input) for a pattern that is not supported,
  // Error(Data) for one that is no expression; `where` names the file in messages.
  Normalizer(std::vector<NormalStep> steps, const std::string& where);

  // What stands on the two sides of a text: nothing, or an added token (true); or more of the same
  // text, of which `text` is a part (false).
  struct Ends {
    bool left = true, right = true;
  };

  // The text after all steps: returns `text`, which must be valid UTF-8, if they change nothing;
  // else overwrites `storage` and returns that. Strip and Prepend change the `ends` of the text
  // alone. Sets `from_start` to false if a step removed something at the beginning of `text`, and
  // leaves it as it is otherwise: the caller then knows whether the result still begins where the
  // text begins.
  [[nodiscard]] std::string_view apply(std::string_view text, Ends ends, std::string& storage,
                                       bool& from_start) const;

 private:
  struct Step {
    NormalStep what;
    std::optional<Expression> expression;
  };
  std::vector<Step> steps_;
};

}  // namespace penstock
