// launch/program/commands/generate_command.cpp -- `penstock generate`: texts that go on from
// prompts.
#include <fmt/format.h>

#include <boost/program_options.hpp>
#include <cstdio>
#include <iostream>

#include "kernels/clock.h"
#include "launch/program/commands/commands.h"
#include "launch/program/failure.h"
#include "launch/program/output.h"
#include "launch/program/runs/trained_run.h"
#include "launch/program/setup.h"
#include "runtime/data/text/tokenizer.h"
#include "runtime/telemetry/units.h"

namespace penstock {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";  // U+FFFD: bytes that are no character

// Standard output: each sample as it grows, a line of dashes between two.
class Output {
 public:
  // `hidden`, by prompt: leading tokens that the user has not written.
  Output(const Tokenizer& tokenizer, std::vector<size_t> hidden, int64_t samples)
      : tokenizer_(tokenizer), hidden_(std::move(hidden)), samples_(static_cast<size_t>(samples)) {}

  void show(size_t sample, std::span<const int32_t> tokens, bool done) {
    if (sample > 0 && !begun_) answer("----\n");
    begun_ = true;
    const std::string text = tokenizer_.decode_shown(tokens.subspan(hidden_[sample / samples_]));
    // The next piece may make a character of them.
    if (!done && text.ends_with(kReplacement)) return;
    write_answer(std::string_view(text).substr(std::min(written_, text.size())));
    written_ = text.size();
    if (done) {
      answer("\n");
      written_ = 0;
      begun_ = false;
    }
  }

 private:
  const Tokenizer& tokenizer_;
  std::vector<size_t> hidden_;
  size_t samples_;      // of each prompt
  size_t written_ = 0;  // bytes of the sample that is being shown
  bool begun_ = false;  // that one
};

std::vector<std::string> lines_of_input() {
  std::vector<std::string> lines;
  for (std::string line; std::getline(std::cin, line);) lines.push_back(line);
  return lines;
}

void generate_texts(const TrainedRun& run, const UseOptions& options,
                    const std::vector<std::string>& prompts) {
  Collective& world = run.network->world();
  Rounds rounds(run.config, *run.pipeline, run.blueprint->model, *run.network, *run.device,
                options.cache);
  std::unique_ptr<Tokenizer> tokenizer;
  std::unique_ptr<Generator> generator;
  on_every_rank([&] {
    if (run.blueprint->input.field != "tokens") {
      fail_input("this network does not write text: model.kind is " + run.config.model.kind);
    }
    tokenizer = open_tokenizer(run.config.data, rounds.classes());
    generator =
        std::make_unique<Generator>(run.config, options.generation, tokenizer->size(), rounds);
  });
  std::vector<Generator::Tokens> tokens;
  std::vector<size_t> hidden;
  (void)on_first_rank(world, [&] {
    for (const std::string& prompt : prompts) {
      tokens.push_back(tokenizer->encode_whole(prompt));
      hidden.push_back(tokens.back().empty() ? 1 : 0);
      if (tokens.back().empty()) tokens.back().push_back(tokenizer->start());
    }
    return std::string();
  });
  Output output(*tokenizer, hidden, options.generation.samples);
  const auto show = [&](size_t sample, std::span<const int32_t> text, bool done) {
    output.show(sample, text, done);
  };
  HostClock clock(1);
  const int64_t added = generator->generate(tokens, show);
  clock.mark(0);
  const double seconds = clock.seconds(0);
  if (world.rank() == 0 && added > 0) {
    const std::string cache =
        rounds.caches() ? "; cache " + bytes_text(rounds.cache_bytes()) + " on rank 0" : "";
    fmt::print(stderr, "penstock: {} tokens in {:.2f} s, {:.0f} tokens/s{}\n", added, seconds,
               static_cast<double>(added) / seconds, cache);
  }
}

void add_generate_options(CommandOptions& options, UseOptions& use) {
  namespace po = boost::program_options;
  GenerationOptions& generation = use.generation;
  SamplingOptions& sampling = generation.sampling;
  options.add_options()("prompt", po::value(&use.prompts)->composing()->value_name("TEXT"),
                        "what to go on from, may be repeated [each line of standard input]; an "
                        "empty one begins as after the end of a line");
  add_checkpoint_option(options, use);
  options.add_options()("tokens", po::value(&generation.tokens)->value_name("N"),
                        "how many more, characters or word pieces [200]")(
      "samples", po::value(&generation.samples)->value_name("N"), "texts of each prompt [1]")(
      "temperature", po::value(&sampling.temperature)->value_name("T"),
      "logits are divided by T; 0: always the most probable token [1]")(
      "top-k", po::value(&sampling.top_k)->value_name("K"),
      "choose among the K most probable tokens; 0: all [0]")(
      "top-p", po::value(&sampling.top_p)->value_name("P"),
      "choose among the most probable that make up the share P [1]");
  add_cache_option(options, use, "tokens");
}

}  // namespace

int generate_command(Session& session, const Arguments& arguments, const ModelMaker& models) {
  const UseOptions options = on_every_rank([&] {
    UseOptions read = read_use_options(generate_form(), add_generate_options, arguments);
    check(read.generation);
    return read;
  });
  std::vector<std::string> prompts = options.prompts;
  const auto count = [&] {
    if (prompts.empty()) prompts = lines_of_input();
    return prompts.size() * static_cast<size_t>(options.generation.samples);
  };
  const TrainedRun run(session, options, models, false, count);
  run.use(session, [&] { generate_texts(run, options, prompts); });
  return 0;
}

const CommandForm& generate_form() {
  static const CommandForm form{
      .name = "generate",
      .operand = "RUNFILE.toml",
      .summary = "text that goes on from a prompt, with a trained network",
      .about =
          R"(Writes text with a trained language model (data.kind = "text"): each prompt and what follows it, a
line of dashes between two. The run file is best the run.toml of the run directory; any number of
stages and replicas will do, and gives the same text.
)",
      .closing =
          R"(--seed S is that of the draws, with the number of the text and of the token [run.seed]. The network
sees model.context tokens: of a longer prompt, or once the text is longer, the last ones.
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
