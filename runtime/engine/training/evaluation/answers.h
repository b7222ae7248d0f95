// runtime/engine/training/evaluation/answers.h -- scores how well a language model answers
// questions with known answers (data.questions): would it write the right answer, and does it find
// the right one of several choices the most probable?
#pragma once

#include "runtime/data/datasets/tuning/questions.h"
#include "runtime/engine/training/evaluation/evaluation.h"

namespace penstock {

// Scores the answers to data.questions, which must be set, in one pass over the texts. Collective
// over all ranks. `source` is made from `config` and open for the pipeline's fields. `say` (may be
// empty) is called on rank 0 with how far a long pass is. The scores are on rank 0, elsewhere
// zeros; they depend neither on the number of stages nor on that of replicas. `station`: which rank
// this is, with its network, its place in stages x replicas and its device.
[[nodiscard]] AnswerScores score_answers(const Config& config, DataSource& source,
                                         Pipeline& pipeline, const Station& station,
                                         const SayLine& say);

// Adds one token of an answer to `score`. `logits`: the network's, one for each id; `label`: the
// right token. Adds its log probability, and notes where it has not the largest logit of the ids
// below `vocabulary`, so that the network would write another token.
void add_token(std::span<const float> logits, int32_t label, int64_t vocabulary, TextScore& score);

}  // namespace penstock
