// runtime/engine/training/evaluation/answers.h -- how good a network's answers are: whether it
// writes them, and whether it finds the right one of several the most probable.
#pragma once

#include "runtime/data/datasets/tuning/questions.h"
#include "runtime/engine/training/evaluation/evaluation.h"

namespace penstock {

// Scores the answers to data.questions, which must be set, in one pass over them. Collective over
// all ranks. `source` is made from `config` and open for the pipeline's fields. `say` (may be
// empty) tells on rank 0 how far a long pass is. The scores are on rank 0, elsewhere zeros; they
// depend neither on stages nor on replicas.
[[nodiscard]] AnswerScores score_answers(const Config& config, DataSource& source,
                                         Pipeline& pipeline, const Station& station,
                                         const SayLine& say);

// Adds to `score` what a row of logits says of the token `label`: its log probability, and whether
// its logit is the largest of the ids below `vocabulary`, so that it would be written.
void add_token(std::span<const float> logits, int32_t label, int64_t vocabulary, TextScore& score);

}  // namespace penstock
