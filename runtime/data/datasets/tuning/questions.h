// runtime/data/datasets/tuning/questions.h -- what `penstock eval` asks of the validation lines of
// data.kind = "jsonl" beside their loss.
//
// Greedy decoding writes an answer exactly if each of the answer's tokens is the most probable one
// behind the prompt and the answer's earlier tokens. One forward of the whole answer, as for a
// sample, tells that; nothing is generated.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/data/datasets/dataset.h"
#include "runtime/data/datasets/tuning/packing.h"

namespace penstock {

struct Question {
  int64_t first = 0, texts = 0;  // the answer, or the choices: texts [first, first + texts)
  int64_t answer = -1;           // which of them is right; -1: there are no choices
};

struct Questions {
  std::vector<Question> all;
  std::vector<int64_t> characters;  // of each text that is a choice, else 0
  int64_t too_long = 0;             // left out: with a text that is longer than the context
  int64_t without_token = 0;        // left out: with one of which no token is predicted
  // The places of the texts in the samples of the validation set.
  PackedRows rows;
  std::vector<int32_t> lengths;  // positions of each text
};

// What a network thinks of a text, as far as it counts: the sum of the logarithms of the
// probabilities of its tokens, and whether greedy decoding writes it.
struct TextScore {
  double log_probability = 0.0;
  bool greedy = true;
};

struct AnswerScores {
  int64_t answers = 0, exact = 0;    // lines with an answer, and those that are written so
  int64_t questions = 0, right = 0;  // lines with choices; those with the right one most probable
  int64_t right_by_length = 0;       // those with the right one most probable per character
  int64_t too_long = 0, without_token = 0;  // lines that are left out, see Questions
};
// `scores` by text. Of equally probable choices the first is taken.
[[nodiscard]] AnswerScores score(const Questions& questions, std::span<const TextScore> scores);

// The questions of the lines that open_tuning() validates on, as a validation set; null where there
// are none. The training set is empty. Throws as open_tuning().
[[nodiscard]] Datasets open_questions(const DataConfig& config, int64_t context);

}  // namespace penstock
