// launch/program/commands/generate_command.cpp -- `penstock generate`: texts that continue prompts,
// and answers in conversations.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <boost/program_options.hpp>

#include "launch/program/commands/chat_prompts.h"
#include "launch/program/commands/commands.h"
#include "launch/program/commands/input_lines.h"
#include "launch/program/commands/text_writer.h"
#include "launch/program/failure.h"
#include "launch/program/help/flag.h"
#include "launch/program/output.h"
#include "launch/program/runs/trained_run.h"
#include "launch/program/setup.h"
#include "runtime/data/tokenizer/vocabulary.h"

namespace penstock {
namespace {

// Warns of prompts, messages and stop texts that are no UTF-8: tokenizers and templates of folders
// read Unicode.
void warn_of_bytes(const TrainedRun& run, const UseOptions& options,
                   const std::vector<std::string>& prompts) {
  if (run.network->world().rank() != 0 || !uses_folder(run.config.data)) return;
  const auto warn = [](const std::string& text, const std::string& name) {
    const std::string note = note_of_bytes(text, name);
    if (!note.empty()) tell("warning: " + note);
  };
  warn(options.system, "--system");
  for (size_t p = 0; p < prompts.size(); ++p) warn(prompts[p], fmt::format("prompt {}", p + 1));
  for (const std::string& stop : options.stops) warn(stop, "--stop");
}

void generate_texts(const TrainedRun& run, const UseOptions& options,
                    const std::vector<std::string>& prompts) {
  TextWriter writer(run, options);
  std::vector<Prompt> read;
  (void)on_first_rank(run.network->world(), [&] {
    const Tokenizer& tokenizer = writer.tokenizer();
    for (const std::string& prompt : prompts) {
      read.push_back({tokenizer.encode_whole(prompt)});
      if (read.back().tokens.empty()) read.back() = {{tokenizer.start()}, 1};
      writer.warn_of_loss(read.back(), fmt::format("prompt {}", read.size()));
    }
    return std::string();
  });
  (void)writer.write(read);
}

template <class Number>
auto* into(std::optional<Number>& asked, const char* name) {
  return boost::program_options::value<Number>()
      ->notifier([&asked](Number value) { asked = value; })
      ->value_name(name);
}

CommandOptions generate_options_into(UseOptions& use) {
  CommandOptions options;
  namespace po = boost::program_options;
  GenerationAsked& asked = use.asked;
  options.add_options()("prompt", po::value(&use.prompts)->composing()->value_name("TEXT"),
                        "what to go on from, may be repeated [each line of standard input]; an "
                        "empty one begins as after the end of a line");
  options.add_options()("chat", flag(use.chat),
                        "prompts are what a user says, written by the folder's chat template; on a "
                        "terminal without --prompt: an exchange")(
      "system", po::value(&use.system)->value_name("TEXT"), "chat: what the system says first")(
      "messages", po::value(&use.messages)->composing()->value_name("FILE"),
      "chat: a conversation to go on with, {\"messages\": [{\"role\": ..., \"content\": ...}, "
      "...]}, may be repeated");
  add_checkpoint_option(options, use);
  options.add_options()("tokens", into(asked.tokens, "N"),
                        "how many more at most, characters or word pieces [as the folder says, "
                        "else 200]")("stop", po::value(&use.stops)->composing()->value_name("TEXT"),
                                     "a text ends before this, may be repeated")(
      "keep-special", flag(use.keep_special), "show special tokens, the one that ends a text too")(
      "samples", po::value(&use.generation.samples)->value_name("N"), "texts of each prompt [1]")(
      "temperature", into(asked.temperature, "T"),
      "logits are divided by T; 0: always the most probable token [as the folder says, else 1]")(
      "top-k", into(asked.top_k, "K"),
      "choose among the K most probable tokens; 0: all [as the folder says, else 0]")(
      "top-p", into(asked.top_p, "P"),
      "choose among the most probable that make up the share P [as the folder says, else 1]")(
      "min-p", into(asked.min_p, "P"),
      "choose among those at least P times as probable as the most probable [as the folder says, "
      "else 0]")(
      "repetition-penalty", into(asked.repetition_penalty, "X"),
      "tokens that the text has are made less probable by X; 1: none [as the folder says, else 1]");
  add_cache_option(options, use, "tokens");
  return options;
}

// Throws Error(Input) for options that are out of range or exclude each other; the error names
// these options.
void check_asked(const UseOptions& options) {
  GenerationOptions how = options.generation;
  how.tokens = options.asked.tokens.value_or(how.tokens);
  how.sampling = {.temperature = options.asked.temperature.value_or(how.sampling.temperature),
                  .top_k = options.asked.top_k.value_or(how.sampling.top_k),
                  .top_p = options.asked.top_p.value_or(how.sampling.top_p),
                  .min_p = options.asked.min_p.value_or(how.sampling.min_p),
                  .repetition_penalty =
                      options.asked.repetition_penalty.value_or(how.sampling.repetition_penalty)};
  check(how);
  constexpr int kMostSamples = 1'000'000;  // times any number of prompts it fits 64 bits
  if (options.generation.samples > kMostSamples) {
    fail_input(fmt::format("--samples is at most {} texts of each prompt", kMostSamples));
  }
  if (std::ranges::find(options.stops, "") != options.stops.end()) {
    fail_input("--stop needs the text before which a text ends");
  }
  if (!options.chat && !(options.system.empty() && options.messages.empty())) {
    fail_input("--system and --messages are parts of a conversation: add --chat");
  }
  if (!options.prompts.empty() && !options.messages.empty()) {
    fail_input("--prompt begins a conversation and --messages goes on with one: leave one out");
  }
}

}  // namespace

int generate_command(Session& session, const Arguments& arguments, const ModelMaker& models) {
  const UseOptions options = on_every_rank([&] {
    UseOptions read = read_use_options(generate_form(), generate_options_into, arguments);
    check_asked(read);
    return read;
  });
  // Only a single rank can hold a conversation. With several ranks, all but rank 0 would wait for
  // what a person types and take the wait for a hang.
  const bool exchange = options.chat && options.prompts.empty() && options.messages.empty() &&
                        session.ranks() == 1 && isatty(STDIN_FILENO) != 0;
  std::vector<std::string> prompts = options.prompts;
  const auto count = [&] {
    if (exchange) return size_t{1};
    if (prompts.empty() && options.messages.empty()) prompts = lines_of_input();
    return (prompts.size() + options.messages.size()) *
           static_cast<size_t>(options.generation.samples);
  };
  const TrainedRun run(session, options, models, false, count);
  run.use(session, [&] {
    warn_of_bytes(run, options, prompts);
    if (exchange) return converse(run, options);
    if (options.chat) return answer_conversations(run, options, prompts);
    generate_texts(run, options, prompts);
  });
  return 0;
}

const CommandForm& generate_form() {
  static const CommandForm form{
      .name = "generate",
      .operand = "RUNFILE.toml",
      .summary = "text that goes on from a prompt, with a trained network",
      .about =
          R"(Writes text with a trained language model: each prompt and what follows it, a line of dashes
between two. The run file is best the run.toml of the run directory; any number of
stages and replicas will do, and gives the same text. With --chat a prompt is what a user says, and
what is written is the answer alone.
)",
      .closing =
          R"(A text ends after --tokens, with the tokenizer's end-of-text token, or with one that the folder's
generation_config.json names. --seed S is that of the draws, with the number of the text and of the
token [run.seed]. The network sees model.context tokens: of a longer prompt, or once the text is
longer, the last ones.
)",
      .needs_ranks = true,
      .options = unread(generate_options_into)};
  return form;
}

}  // namespace penstock
