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

// The options of all these commands together; each command has some of them.
struct UseOptions {
  std::string checkpoint;  // empty: the newest of run.out
  std::string reference;
  bool json = false;
  bool confusion = false;
  bool cache = true;  // whether Rounds keeps keys and values
  TranslationOptions translation;
  GenerationOptions generation;
  GenerationAsked asked;                    // what of `generation` was given
  std::vector<std::string> prompts, stops;  // --prompt, --stop
  bool keep_special = false;                // special tokens are shown
  bool chat = false;                        // prompts are what a user says
  std::string system;                       // with chat: the system message
  std::vector<std::string> messages;        // with chat: files for read_messages()
  Arguments rest;                           // the run file and its keys
};

// Each adds options that several commands have; parsing them fills in `use`.
void add_checkpoint_option(CommandOptions& options, UseOptions& use);
void add_beam_options(CommandOptions& options, UseOptions& use);
// `what`: the earlier positions whose keys and values are cached, "words".
void add_cache_option(CommandOptions& options, UseOptions& use, const std::string& what);

// Parses `arguments` by the options that `add` gives the command. Throws Error(Input).
[[nodiscard]] UseOptions read_use_options(const CommandForm& form,
                                          void (*add)(CommandOptions&, UseOptions&),
                                          const Arguments& arguments);

}  // namespace penstock
