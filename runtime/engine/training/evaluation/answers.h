// runtime/engine/training/evaluation/answers.h -- how good a network's answers are: whether it
// writes them, and whether it finds the right one of several the most probable.
#pragma once

#include "runtime/data/datasets/tuning/questions.h"
#include "runtime/engine/training/evaluation/evaluation.h"

namespace penstock {

// Collective, in one pass over the questions. `config` has data.questions, and `source` is its,
// open for the pipeline's fields. `say` as evaluate()'s. All numbers on rank 0, elsewhere zeros;
// they depend neither on stages nor on replicas.
[[nodiscard]] AnswerScores score_answers(const Config& config, DataSource& source,
                                         Pipeline& pipeline, const Station& station,
                                         const SayLine& say);

// What a row of logits thinks of the token `label`; only those below `vocabulary` can be written.
// Adds it to `score`.
void add_token(std::span<const float> logits, int32_t label, int64_t vocabulary, TextScore& score);

}  // namespace penstock
