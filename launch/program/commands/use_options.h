// launch/program/commands/use_options.h -- what commands that use a trained network take beside the
// keys of the run file.
#pragma once

#include <string>
#include <vector>

#include "launch/program/commands/commands.h"
#include "launch/program/commands/generation_defaults.h"
#include "launch/program/help/command_form.h"
#include "runtime/engine/decoding/generator.h"
#include "runtime/engine/decoding/translator.h"

namespace penstock {

struct UseOptions {
  std::string checkpoint;  // empty: the newest of run.out
  std::string reference;
  bool json = false;
  bool confusion = false;
  bool cache = true;  // Rounds
  TranslationOptions translation;
  GenerationOptions generation;
  GenerationAsked asked;
  std::vector<std::string> prompts, stops;
  bool keep_special = false;
  bool chat = false;                  // prompts are what a user says
  std::string system;                 // chat
  std::vector<std::string> messages;  // chat: files
  Arguments rest;                     // the run file and its keys
};

// Options that several commands have; they fill `use` in.
void add_checkpoint_option(CommandOptions& options, UseOptions& use);
void add_beam_options(CommandOptions& options, UseOptions& use);
// `what`: the earlier positions whose keys and values are cached, "words".
void add_cache_option(CommandOptions& options, UseOptions& use, const std::string& what);

// `add` gives a command its options. Throws Error(Input).
[[nodiscard]] UseOptions read_use_options(const CommandForm& form,
                                          void (*add)(CommandOptions&, UseOptions&),
                                          const Arguments& arguments);

}  // namespace penstock
