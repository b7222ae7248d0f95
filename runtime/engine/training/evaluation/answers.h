// runtime/engine/training/evaluation/answers.h -- how good a network's answers are: whether it
// writes them, and whether it finds the right one of several the most probable.
#pragma once

#include "runtime/data/datasets/tuning/questions.h"
#include "runtime/engine/training/evaluation/evaluation.h"

namespace penstock {

// Collective, in one pass over the questions. `config` has data.questions, and `source` is made
// from it and open for the pipeline's fields. `say` as evaluate()'s. All numbers are on rank 0,
// elsewhere zeros; they depend neither on stages nor on replicas.
[[nodiscard]] AnswerScores score_answers(const Config& config, DataSource& source,
                                         Pipeline& pipeline, const Station& station,
                                         const SayLine& say);

// Adds to `score` what a row of logits says of the token `label`: its log probability, and whether
// it is the one that would be written, which is always one below `vocabulary`.
void add_token(std::span<const float> logits, int32_t label, int64_t vocabulary, TextScore& score);

}  // namespace penstock
