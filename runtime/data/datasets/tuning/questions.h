// runtime/data/datasets/tuning/questions.h -- Questions: what `penstock eval` asks of a fine-tuned
// network besides its loss, made of the validation lines of data.kind = "jsonl": does it write the
// right answer, or find the right one of several choices the most probable?
//
// Nothing is generated for that. Each text, a prompt with an answer or with one of the choices, is
// run forward once. Its log-probability is the sum over the answer's tokens; and greedy decoding
// would write exactly the answer if each of these tokens is the most probable one behind the tokens
// before it.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/data/datasets/dataset.h"
#include "runtime/data/datasets/tuning/packing.h"

namespace penstock {

// One line of the validation data. All texts of all questions are numbered through, from 0.
struct Question {
  // The texts of this line are first, first + 1 ... first + texts - 1: one for each choice, or one
  // with the answer.
  int64_t first = 0, texts = 0;
  int64_t answer = -1;  // the index of the right choice, from 0; -1: there are no choices
};

struct Questions {
  std::vector<Question> all;
  std::vector<int64_t> characters;  // of each text: the characters of its choice; 0 for an answer
  int64_t too_long = 0;             // lines left out, for a text is longer than the context
  int64_t without_token = 0;     // lines left out, for an answer or choice has no token to predict
  PackedRows rows;               // which texts each sample (row) of the validation set holds
  std::vector<int32_t> lengths;  // of each text: the positions that it takes in its row
};

// What a network makes of the answer, or the choice, in one text.
struct TextScore {
  double log_probability = 0.0;  // natural logarithm, the sum over its tokens
  bool greedy = true;            // greedy decoding would write exactly it
};

struct AnswerScores {
  // Lines with an answer, and those of them where greedy decoding writes exactly it.
  int64_t answers = 0, exact = 0;
  // Lines with choices, and those of them where the right one has the largest log-probability.
  int64_t questions = 0, right = 0;
  // The number of those where the right one has the largest log-probability divided by its
  // characters.
  int64_t right_by_length = 0;
  int64_t too_long = 0, without_token = 0;  // as in Questions
};
// Counts the right answers. `scores` has one for each text. Of choices with equal scores the first
// one counts as the network's.
[[nodiscard]] AnswerScores score(const Questions& questions, std::span<const TextScore> scores);

// Opens the validation lines of `config` as questions, with rows of `context` positions. The result
// has Datasets::questions, the texts as the validation set (null: no line asks anything), and an
// empty training set. Throws as open_tuning() (tuning_set.h) does: Error(Input) naming the key or
// what is not supported, Error(Data) naming file and line.
[[nodiscard]] Datasets open_questions(const DataConfig& config, int64_t context);

}  // namespace penstock
