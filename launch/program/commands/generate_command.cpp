// launch/program/commands/generate_command.cpp -- `penstock generate`: texts that go on from
// prompts, and answers in conversations.
#include <unistd.h>

#include <algorithm>
#include <boost/program_options.hpp>
#include <iostream>

#include "launch/program/commands/chat_prompts.h"
#include "launch/program/commands/commands.h"
#include "launch/program/commands/text_writer.h"
#include "launch/program/failure.h"
#include "launch/program/help/flag.h"
#include "launch/program/runs/trained_run.h"
#include "launch/program/setup.h"

namespace penstock {
namespace {

std::vector<std::string> lines_of_input() {
  std::vector<std::string> lines;
  for (std::string line; std::getline(std::cin, line);) lines.push_back(line);
  return lines;
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

void add_generate_options(CommandOptions& options, UseOptions& use) {
  namespace po = boost::program_options;
  GenerationOptions& generation = use.generation;
  SamplingAsked& sampling = use.sampling;
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
  options.add_options()("tokens", po::value(&generation.tokens)->value_name("N"),
                        "how many more at most, characters or word pieces [200]")(
      "stop", po::value(&use.stops)->composing()->value_name("TEXT"),
      "a text ends before this, may be repeated")(
      "keep-special", flag(use.keep_special), "show special tokens, the one that ends a text too")(
      "samples", po::value(&generation.samples)->value_name("N"), "texts of each prompt [1]")(
      "temperature", into(sampling.temperature, "T"),
      "logits are divided by T; 0: always the most probable token [as the folder says, else 1]")(
      "top-k", into(sampling.top_k, "K"),
      "choose among the K most probable tokens; 0: all [as the folder says, else 0]")(
      "top-p", into(sampling.top_p, "P"),
      "choose among the most probable that make up the share P [as the folder says, else 1]")(
      "repetition-penalty", into(sampling.repetition_penalty, "X"),
      "tokens that the text has are made less probable by X; 1: none [as the folder says, else 1]");
  add_cache_option(options, use, "tokens");
}

// Throws Error(Input) naming the option that is out of its range.
void check_asked(const UseOptions& options) {
  GenerationOptions asked = options.generation;
  SamplingOptions& sampling = asked.sampling;
  sampling.temperature = options.sampling.temperature.value_or(sampling.temperature);
  sampling.top_k = options.sampling.top_k.value_or(sampling.top_k);
  sampling.top_p = options.sampling.top_p.value_or(sampling.top_p);
  sampling.repetition_penalty =
      options.sampling.repetition_penalty.value_or(sampling.repetition_penalty);
  check(asked);
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
    UseOptions read = read_use_options(generate_form(), add_generate_options, arguments);
    check_asked(read);
    return read;
  });
  // With several ranks the others would wait for what a person types, and take it for a hang.
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
      .needs_ranks = true};
  return form;
}

CommandOptions generate_command_options() {
  CommandOptions options;
  UseOptions unused;
  add_generate_options(options, unused);
  return options;
}

}  // namespace penstock
