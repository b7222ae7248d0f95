// runtime/data/datasets/tuning/questions.h -- what `penstock eval` asks of the validation lines of
// data.kind = "jsonl" beside their loss: whether the network writes the answer, or finds the right
// choice the most probable.
//
// Greedy decoding writes exactly the answer if each of the answer's tokens is the most probable one
// behind the prompt and the answer's earlier tokens. One forward of prompt and answer tells that;
// nothing is generated.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/data/datasets/dataset.h"
#include "runtime/data/datasets/tuning/packing.h"

namespace penstock {

struct Question {
  // Texts [first, first + texts), each behind its prompt: the choices, or the answer alone.
  int64_t first = 0, texts = 0;
  int64_t answer = -1;  // the number of the right choice; -1: there are no choices
};

struct Questions {
  std::vector<Question> all;
  std::vector<int64_t> characters;  // by text: how many a choice has; 0 for an answer
  int64_t too_long = 0;             // lines left out: a text is longer than the context
  int64_t without_token = 0;        // lines left out: no token of a text's answer is predicted
  // The texts that each sample of the validation set has.
  PackedRows rows;
  std::vector<int32_t> lengths;  // positions of each text
};

// How a network scores the answer of a text.
struct TextScore {
  double log_probability = 0.0;  // sum over its tokens
  bool greedy = true;            // greedy decoding writes it
};

struct AnswerScores {
  int64_t answers = 0, exact = 0;    // lines with an answer; those where greedy decoding writes it
  int64_t questions = 0, right = 0;  // lines with choices; those where the right one is likeliest
  int64_t right_by_length = 0;       // those where it is likeliest by log_probability per character
  int64_t too_long = 0, without_token = 0;  // lines that are left out, as in Questions
};
// Counts the right answers; `scores` by text. Of equally probable choices the first is taken.
[[nodiscard]] AnswerScores score(const Questions& questions, std::span<const TextScore> scores);

// Datasets whose validation set has the texts of the questions that the validation lines ask (null:
// they ask nothing); the training set is empty. Throws as open_tuning().
[[nodiscard]] Datasets open_questions(const DataConfig& config, int64_t context);

}  // namespace penstock
