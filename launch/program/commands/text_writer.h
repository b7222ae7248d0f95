// launch/program/commands/text_writer.h -- TextWriter: continues prompts by a trained language
// model, and writes the texts to standard output while they grow. It joins the tokenizer, Rounds
// and Generator (runtime/engine/decoding) for `penstock generate`.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "launch/program/commands/use_options.h"
#include "launch/program/runs/trained_run.h"
#include "runtime/data/tokenizer/tokenizer.h"
#include "runtime/engine/decoding/generator.h"

namespace penstock {

// A prompt as the network reads it.
struct Prompt {
  Generator::Tokens tokens;  // token ids
  size_t hidden = 0;         // how many leading tokens are not shown
};

class TextWriter {
 public:
  // Collective over all ranks. Tells on rank 0 which options of generation were taken from the
  // network's folder. Both arguments must outlive this. Throws Error(Input) where the network does
  // not write text.
  TextWriter(const TrainedRun& run, const UseOptions& options);

  [[nodiscard]] const Tokenizer& tokenizer() const { return *tokenizer_; }
  // Adds a token that ends a text. Called on all ranks, before write().
  void end_at(int32_t token);

  // Warns, on rank 0, when the prompt is longer than the network's context, so that it sees only
  // the end. `name` is what the message calls the prompt.
  void warn_of_loss(const Prompt& prompt, const std::string& name) const;

  // Writes options.generation.samples texts for each prompt to standard output of rank 0, with a
  // line of dashes between two. Collective; the prompts of rank 0 count. `tells_speed`: says how
  // long that took. Returns, on rank 0, what was added to the last prompt, without special tokens.
  std::string write(const std::vector<Prompt>& prompts, bool tells_speed = true);

 private:
  const TrainedRun& run_;
  const UseOptions& options_;
  GenerationOptions how_;           // options of generation, the folder's advice included
  std::vector<std::string> stops_;  // stop strings, the user's and the folder's
  Rounds rounds_;
  std::unique_ptr<Tokenizer> tokenizer_;
};

}  // namespace penstock
