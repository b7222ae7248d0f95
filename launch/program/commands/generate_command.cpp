// launch/program/commands/generate_command.cpp -- `penstock generate`: texts that go on from
// prompts.
#include <fmt/format.h>

#include <algorithm>
#include <boost/program_options.hpp>
#include <cstdio>
#include <iostream>

#include "kernels/clock.h"
#include "launch/program/commands/commands.h"
#include "launch/program/commands/stop_texts.h"
#include "launch/program/failure.h"
#include "launch/program/help/flag.h"
#include "launch/program/output.h"
#include "launch/program/runs/trained_run.h"
#include "launch/program/setup.h"
#include "runtime/data/text/tokenizer.h"
#include "runtime/data/text/vocabulary.h"
#include "runtime/telemetry/units.h"

namespace penstock {
namespace {

// Of a text that grows: what its user sees.
class View {
 public:
  View(const Tokenizer& tokenizer, const UseOptions& options, std::vector<int32_t> ends)
      : tokenizer_(tokenizer), options_(options), ends_(std::move(ends)) {}

  [[nodiscard]] std::string text(std::span<const int32_t> tokens) const {
    return options_.keep_special ? tokenizer_.decode(tokens) : tokenizer_.decode_shown(tokens);
  }
  // What stands behind the prompt; the token that ends it leaves no trace unless it is asked for.
  [[nodiscard]] std::string answer(std::span<const int32_t> tokens, size_t added) const {
    const size_t prompt = text(tokens.first(tokens.size() - added)).size();
    const bool ended = added > 0 && std::ranges::find(ends_, tokens.back()) != ends_.end();
    if (ended && !options_.keep_special) tokens = tokens.first(tokens.size() - 1);
    std::string all = text(tokens);
    return all.substr(std::min(prompt, all.size()));
  }
  [[nodiscard]] bool is_over(std::span<const int32_t> tokens, size_t added) const {
    return has_stop(answer(tokens, added), options_.stops);
  }
  [[nodiscard]] size_t to_show(std::string_view answer, bool done) const {
    return bytes_to_show(answer, options_.stops, done);
  }

 private:
  const Tokenizer& tokenizer_;
  const UseOptions& options_;
  std::vector<int32_t> ends_;
};

// A prompt as the network reads it.
struct Prompt {
  Generator::Tokens tokens;
  size_t hidden = 0;  // leading ones that the user has not written
};

// Standard output: each sample as it grows, a line of dashes between two.
class Output {
 public:
  Output(const View& view, const std::vector<Prompt>& prompts, int64_t samples)
      : view_(view), prompts_(prompts), samples_(static_cast<size_t>(samples)) {}

  void show(size_t sample, std::span<const int32_t> tokens, bool done) {
    const Prompt& prompt = prompts_[sample / samples_];
    if (!begun_) {
      if (sample > 0) answer("----\n");
      write_answer(view_.text(std::span(prompt.tokens).subspan(prompt.hidden)));
    }
    begun_ = true;
    const size_t added = tokens.size() - prompt.tokens.size();
    const std::string text = view_.answer(tokens.subspan(prompt.hidden), added);
    const size_t now = std::max(written_, view_.to_show(text, done));
    write_answer(std::string_view(text).substr(std::min(written_, text.size()), now - written_));
    written_ = now;
    if (done) {
      answer("\n");
      written_ = 0;
      begun_ = false;
    }
  }

 private:
  const View& view_;
  const std::vector<Prompt>& prompts_;
  size_t samples_;      // of each prompt
  size_t written_ = 0;  // bytes behind the prompt of the sample that is being shown
  bool begun_ = false;  // that one
};

std::vector<std::string> lines_of_input() {
  std::vector<std::string> lines;
  for (std::string line; std::getline(std::cin, line);) lines.push_back(line);
  return lines;
}

// Of the folder that the network's words come from, or it itself.
GenerationConfig folder_says(const Config& config) {
  if (!config.model.from.empty()) return read_generation_config(config.model.from);
  return uses_folder(config.data) ? read_generation_config(config.data.vocabulary)
                                  : GenerationConfig{};
}

void generate_texts(const TrainedRun& run, const UseOptions& options,
                    const std::vector<std::string>& prompts) {
  Collective& world = run.network->world();
  Rounds rounds(run.config, *run.pipeline, run.blueprint->model, *run.network, *run.device,
                options.cache);
  GenerationOptions how = options.generation;
  std::unique_ptr<Tokenizer> tokenizer;
  std::unique_ptr<Generator> generator;
  std::string said;
  on_every_rank([&] {
    if (run.blueprint->input.field != "tokens") {
      fail_input("this network does not write text: model.kind is " + run.config.model.kind);
    }
    tokenizer = open_tokenizer(run.config.data, rounds.classes());
    said = settle_generation(how, options.sampling, folder_says(run.config), *tokenizer);
    generator = std::make_unique<Generator>(run.config, how, tokenizer->size(), rounds);
  });
  if (world.rank() == 0 && !said.empty()) fmt::print(stderr, "penstock: {}\n", said);
  std::vector<Prompt> read;
  (void)on_first_rank(world, [&] {
    for (const std::string& prompt : prompts) {
      read.push_back({tokenizer->encode_whole(prompt)});
      if (read.back().tokens.empty()) read.back() = {{tokenizer->start()}, 1};
    }
    return std::string();
  });
  std::vector<Generator::Tokens> tokens;
  for (const Prompt& prompt : read) tokens.push_back(prompt.tokens);
  const View view(*tokenizer, options, how.ends);
  Output output(view, read, how.samples);
  const auto show = [&](size_t sample, std::span<const int32_t> text, bool done) {
    output.show(sample, text, done);
  };
  Generator::IsOver is_over;
  if (!options.stops.empty()) {
    is_over = [&](std::span<const int32_t> text, size_t n) { return view.is_over(text, n); };
  }
  HostClock clock(1);
  const int64_t added = generator->generate(tokens, show, is_over);
  clock.mark(0);
  const double seconds = clock.seconds(0);
  if (world.rank() == 0 && added > 0) {
    const std::string cache =
        rounds.caches() ? "; cache " + bytes_text(rounds.cache_bytes()) + " on rank 0" : "";
    fmt::print(stderr, "penstock: {} tokens in {:.2f} s, {:.0f} tokens/s{}\n", added, seconds,
               static_cast<double>(added) / seconds, cache);
  }
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
}

}  // namespace

int generate_command(Session& session, const Arguments& arguments, const ModelMaker& models) {
  const UseOptions options = on_every_rank([&] {
    UseOptions read = read_use_options(generate_form(), add_generate_options, arguments);
    check_asked(read);
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
