// launch/program/commands/text_writer.h -- TextWriter: continues prompts by a trained network, and
// writes the texts to standard output as they grow.
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
  Generator::Tokens tokens;
  size_t hidden = 0;  // leading tokens that are not shown
};

class TextWriter {
 public:
  // Collective. Throws Error(Input) where the network writes no text. Says on rank 0 which options
  // of generation were taken from the network's folder. Both arguments must outlive this.
  TextWriter(const TrainedRun& run, const UseOptions& options);

  [[nodiscard]] const Tokenizer& tokenizer() const { return *tokenizer_; }
  // Collective: a text ends with this token as well.
  void end_at(int32_t token);

  // Warns, on rank 0, where the network sees only the end of the prompt, called `name`.
  void warn_of_loss(const Prompt& prompt, const std::string& name) const;

  // Collective; the prompts of rank 0 count. Writes options.generation.samples texts of each, a
  // line of dashes between two; with `tells_speed` says how long that took. Returns, on rank 0,
  // what the last text adds to its prompt, without special tokens.
  std::string write(const std::vector<Prompt>& prompts, bool tells_speed = true);

 private:
  const TrainedRun& run_;
  const UseOptions& options_;
  GenerationOptions how_;
  std::vector<std::string> stops_;  // the user's and the folder's
  Rounds rounds_;
  std::unique_ptr<Tokenizer> tokenizer_;
};

}  // namespace penstock
