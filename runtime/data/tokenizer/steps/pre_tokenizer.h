// runtime/data/tokenizer/steps/pre_tokenizer.h -- PreTokenizer: how a tokenizer.json cuts a text
// into words (its "pre-tokenizers").
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/data/tokenizer/steps/expression.h"

namespace penstock {

// Each step cuts what the one before has left.
struct PreTokenizerStep {
  // Matches of the pattern, and what lies between them, are words; with `invert` each is taken for
  // the other.
  enum class Behavior : uint8_t {
    Isolated,            // each match is a word
    Removed,             // only what lies between matches is a word
    MergedWithPrevious,  // a match belongs to the word before it, unless that is a match
    MergedWithNext,      // a match belongs to the word behind it, unless that is a match
    Contiguous,          // matches in a row are one word
  };
  Pattern pattern = {};  // an empty one cuts nothing
  Behavior behavior = Behavior::Isolated;
  bool invert = false;
  // What a space becomes before the text is cut (empty: a space), and whether that is also put
  // before a text that does not begin with it.
  std::string space = {};
  enum class Put : uint8_t { Never, AtStart, Always };  // AtStart: of the whole text alone
  Put put = Put::Never;
  bool operator==(const PreTokenizerStep&) const = default;
};

class PreTokenizer {
 public:
  // Throws as Expression does; `where` names the file.
  PreTokenizer(std::vector<PreTokenizerStep> steps, const std::string& where);

  // The words of a text, from left to right; none is empty. `at_start`: the text begins where the
  // whole one does. Throws Error(Data) where a search takes too long.
  using Take = std::function<void(std::string_view word)>;
  void for_each_word(std::string_view text, bool at_start, const Take& take) const;

 private:
  struct Step {
    PreTokenizerStep how;
    std::optional<Expression> expression;
  };
  void cut(std::string_view piece, bool at_start, size_t step, const Take& take) const;

  std::vector<Step> steps_;
};

}  // namespace penstock
