// tests/distributed/tuned.h -- tests/distributed/tuned as a [data] section: a small Hugging Face
// folder (tests/python/answers_test.py made it) with lines to be trained on, packed into rows.
#pragma once

#define PENSTOCK_TUNED PENSTOCK_SOURCE "/tests/distributed/tuned"

namespace penstock {

// The folder's lines, cut by its tokenizer, where the build can read that; else synthetic data.
inline constexpr const char* kTunedData = PENSTOCK_READS_WORDS
                                              ? "kind = \"jsonl\"\nvocabulary = \"" PENSTOCK_TUNED
                                                "\"\ntrain = \"" PENSTOCK_TUNED "/train.jsonl\"\n"
                                              : "kind = \"synthetic\"\n";

}  // namespace penstock
