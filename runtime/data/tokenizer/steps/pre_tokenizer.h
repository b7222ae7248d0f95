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

// A step; each cuts the words that the step before has cut.
struct PreTokenizerStep {
  // What becomes of the matches of the pattern; what lies between two is a word. `invert`: matches
  // count as what lies between, and the other way round.
  enum class Behavior : uint8_t {
    Isolated,            // each match is a word
    Removed,             // only what lies between matches is a word
    MergedWithPrevious,  // a match belongs to the word before it, unless that is a match
    MergedWithNext,      // a match belongs to the word behind it, unless that is a match
    Contiguous,          // matches without anything between them are one word
  };
  Pattern pattern = {};  // an empty one cuts nothing
  Behavior behavior = Behavior::Isolated;
  bool invert = false;
  // What a space becomes before the text is cut (empty: it stays); `put`: whether that is also put
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

  // Calls take() with each word of `text`, a part of a whole text, from left to right; none is
  // empty. `at_start`: the part is at the beginning of the whole. Throws Error(Data) where a search
  // takes too long.
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
