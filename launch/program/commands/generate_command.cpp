// launch/program/commands/generate_command.cpp -- `penstock generate`: texts that go on from
// prompts.
#include <fmt/format.h>

#include <array>
#include <cstdio>
#include <iostream>

#include "kernels/clock.h"
#include "launch/program/commands/commands.h"
#include "launch/program/failure.h"
#include "launch/program/output.h"
#include "launch/program/setup.h"
#include "launch/program/trained_run.h"
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
    const std::string text = tokenizer_.decode(tokens.subspan(hidden_[sample / samples_]));
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
      tokens.push_back(tokenizer->encode(prompt));
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

}  // namespace

int generate_command(Session& session, const Arguments& arguments, const ModelMaker& models) {
  constexpr std::array<std::string_view, 8> kOptions = {
      "--checkpoint", "--cache",       "--prompt", "--tokens",
      "--samples",    "--temperature", "--top-k",  "--top-p"};
  const UseOptions options = on_every_rank([&] {
    UseOptions read = use_options(arguments, kOptions);
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

}  // namespace penstock
