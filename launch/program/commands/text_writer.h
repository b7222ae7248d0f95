// launch/program/commands/text_writer.h -- TextWriter: prompts in, texts to standard output as they
// grow, through a trained network.
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
  // Collective. Throws Error(Input) where the network writes no text. Tells on rank 0 what was
  // taken from the network's folder for generation. Both arguments must outlive this.
  TextWriter(const TrainedRun& run, const UseOptions& options);

  [[nodiscard]] const Tokenizer& tokenizer() const { return *tokenizer_; }
  // Collective: a text ends with this token as well.
  void end_at(int32_t token);

  // Warns, on rank 0, of a prompt, called `name`, of which the network sees only the end.
  void warn_of_loss(const Prompt& prompt, const std::string& name) const;

  // Collective; the prompts of rank 0 count. Writes options.generation.samples texts of each, a
  // line of dashes between two, and tells how long that took. Returns, on rank 0, what stands
  // behind the prompt in the last one, without special tokens.
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
