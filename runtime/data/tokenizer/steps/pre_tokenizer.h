// runtime/data/tokenizer/steps/pre_tokenizer.h -- PreTokenizer: cuts a text into words, by the
// steps of the part "pre_tokenizer" of a tokenizer.json. A type that Hugging Face has, such as
// ByteLevel, becomes steps in hub/json_steps.cpp; only a new way of cutting belongs here.
//
// Each step has a pattern and says what becomes of its matches. Example, the pattern `-` in "a-b":
// Isolated gives a, -, b; Removed a, b; MergedWithPrevious a-, b; MergedWithNext a, -b.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/data/tokenizer/steps/expression.h"

namespace penstock {

// One step. The first one cuts the text, each further one cuts the words of the step before it.
struct PreTokenizerStep {
  // What becomes of the matches of the pattern. Each stretch between two matches is a word.
  enum class Behavior : uint8_t {
    Isolated,            // each match is a word
    Removed,             // only what lies between matches is a word
    MergedWithPrevious,  // a match belongs to the word before it, unless that is a match
    MergedWithNext,      // a match belongs to the word behind it, unless that is a match
    Contiguous,          // matches without anything between them are one word
  };
  Pattern pattern = {};  // an empty text: the step cuts nothing
  Behavior behavior = Behavior::Isolated;
  // True: the stretches between matches are taken for matches, and matches for such stretches.
  bool invert = false;
  // What each space becomes before the word is cut; empty: it stays a space.
  std::string space = {};
  // Whether a space, in that form, is put before what the step cuts unless it begins with one.
  // AtStart: only at the beginning of the whole text. (Start::Nothing: never.)
  enum class Put : uint8_t { Never, AtStart, Always };
  Put put = Put::Never;
  bool operator==(const PreTokenizerStep&) const = default;
};

class PreTokenizer {
 public:
  // Compiles the patterns of the steps. Throws Error(Input) for a pattern that is not supported,
  // Error(Data) for one that is no expression; `where` names the file in messages.
  PreTokenizer(std::vector<PreTokenizerStep> steps, const std::string& where);

  // What begins with a stretch of text.
  enum class Start : uint8_t {
    Text,     // the whole text
    Stretch,  // a stretch: an added token, or a word that an earlier step cut, stands before it
    Nothing,  // the stretch goes on from a part of the text that is cut by itself
  };
  // Calls take(word) for each word of `text`, from left to right; no word is empty. `text` is a
  // stretch between added tokens, or the rest of one. Throws Error(Data) if a search takes too
  // long.
  using Take = std::function<void(std::string_view word)>;
  void for_each_word(std::string_view text, Start start, const Take& take) const;

 private:
  struct Step {
    PreTokenizerStep how;
    std::optional<Expression> expression;
  };
  void cut(std::string_view piece, Start start, size_t step, const Take& take) const;

  std::vector<Step> steps_;
};

}  // namespace penstock
