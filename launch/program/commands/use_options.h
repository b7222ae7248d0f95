// launch/program/commands/use_options.h -- the options of commands that use a trained network
// (`eval`, `translate`, `generate`, `predict`), besides the keys of the run file: which checkpoint,
// how to decode, what to print.
#pragma once

#include <string>
#include <vector>

#include "launch/program/commands/commands.h"
#include "launch/program/commands/generation_defaults.h"
#include "launch/program/help/command_form.h"
#include "runtime/engine/decoding/generator.h"
#include "runtime/engine/decoding/translator.h"

namespace penstock {

// The options of all these commands together. Each command declares some of them and leaves the
// others at their defaults.
struct UseOptions {
  // --checkpoint, a step directory, or "best" of the run directory run.out; empty: its newest.
  std::string checkpoint;
  std::string reference;   // --reference: a file of right translations, for BLEU
  bool json = false;       // print JSON
  bool confusion = false;  // print which class is taken for which
  bool cache = true;       // keep keys and values while decoding (Rounds)
  TranslationOptions translation;
  // The options among --beam, --length-penalty and --cache that the user has given, where these are
  // declared.
  std::vector<std::string> of_translations;
  GenerationOptions generation;
  GenerationAsked asked;                    // which of `generation` the user has given
  std::vector<std::string> prompts, stops;  // each --prompt, each --stop
  bool keep_special = false;                // show special tokens
  bool chat = false;                        // prompts are what a user says in a conversation
  std::string system;                       // with chat: the system message; empty: none
  std::vector<std::string> messages;        // with chat: files for read_messages() (chat_prompts.h)
  Arguments rest;  // all other words: the run file and its keys, for read_settings()
};

// Each of these adds options that several commands have. When the command line is parsed, their
// values are stored in `use`, which must outlive `options`.
void add_checkpoint_option(CommandOptions& options, UseOptions& use);
void add_beam_options(CommandOptions& options, UseOptions& use);
// `what` completes the help: what the cached keys and values are of, "words".
void add_cache_option(CommandOptions& options, UseOptions& use, const std::string& what);

// Parses `arguments` with the command's options, which `into` makes. Throws Error(Input).
[[nodiscard]] UseOptions read_use_options(const CommandForm& form,
                                          CommandOptions (*into)(UseOptions&),
                                          const Arguments& arguments);

}  // namespace penstock
