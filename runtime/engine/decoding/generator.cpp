#include "runtime/engine/decoding/generator.h"

#include <algorithm>

#include "kernels/error.h"
#include "kernels/philox.h"

namespace penstock {
namespace {

// Shows samples in their order, even when a later one is done first.
class Exit {
 public:
  Exit(const std::vector<Generator::Tokens>& samples, const Generator::Show& show)
      : samples_(samples), show_(show), done_(samples.size()) {}
  void note_done(size_t sample) { done_[sample] = true; }
  // Shows, in order, the samples finished since the last call, then the first unfinished sample as
  // far as it has come.
  void show() {
    while (next_ < samples_.size()) {
      show_(next_, samples_[next_], done_[next_]);
      if (!done_[next_]) return;
      ++next_;
    }
  }

 private:
  const std::vector<Generator::Tokens>& samples_;
  const Generator::Show& show_;
  std::vector<bool> done_;
  size_t next_ = 0;  // the first sample that has not been shown to its end
};

// This is a sample that is still being generated, with the place of its row in the rounds.
struct Growing {
  size_t sample;
  int64_t place;
};

}  // namespace

void check(const GenerationOptions& options) {
  if (options.tokens < 0) fail_input("--tokens must be 0 or above");
  if (options.samples < 1) fail_input("--samples must be 1 or above");
  check(options.sampling);
}

Generator::Generator(const Config& config, const GenerationOptions& options, int64_t vocabulary,
                     Rounds& rounds)
    : options_(options),
      rounds_(rounds),
      context_(config.model.context),
      seed_(config.run.seed),
      choose_([how = options.sampling, vocabulary](std::span<const float> logits, const Row& row) {
        logits = logits.first(std::min(logits.size(), static_cast<size_t>(vocabulary)));
        const double penalty = how.repetition_penalty;
        if (penalty == 1.0) return std::vector<NextWord>{{sample(logits, how, row.draw), 0.0}};
        const std::vector<float> changed = penalised(logits, row.words, penalty);
        return std::vector<NextWord>{{sample(changed, how, row.draw), 0.0}};
      }) {
  check(options_);
}

double Generator::draw(size_t sample, size_t position) const {
  const auto words = philox(random_stream(seed_, hash_name("generate"), sample, position), 0);
  const uint64_t bits = (uint64_t{words[0]} << 32 | words[1]) >> 11;
  return static_cast<double>(bits) * 0x1p-53;
}

bool Generator::has_ended(const Tokens& tokens, size_t added, const IsOver& is_over) const {
  if (static_cast<int64_t>(added) == options_.tokens) return true;
  if (std::ranges::find(options_.ends, tokens.back()) != options_.ends.end()) return true;
  return is_over && is_over(tokens, added);
}

std::span<const int32_t> Generator::window(const Tokens& tokens) const {
  return std::span(tokens).last(std::min(tokens.size(), static_cast<size_t>(context_)));
}

// Generates as many samples at a time as a round has places for; when a sample ends, the next one
// takes its place. Returns, on rank 0, how many tokens were added in all.
int64_t Generator::generate(const std::vector<Tokens>& prompts, const Show& show,
                            const IsOver& is_over) {
  std::vector<Tokens> samples;
  for (const Tokens& prompt : prompts) {
    samples.insert(samples.end(), static_cast<size_t>(options_.samples), prompt);
  }
  Exit exit(samples, show);
  std::vector<Growing> growing;
  Places places = rounds_.places(1);
  size_t started = 0;
  int64_t added = 0;
  const auto prompt_size = [&](size_t sample) {
    return prompts[sample / static_cast<size_t>(options_.samples)].size();
  };
  for (;;) {
    for (; started < samples.size() && places.any_free(); ++started) {
      if (options_.tokens > 0) {
        growing.push_back({started, places.take()});
      } else {
        exit.note_done(started);
      }
    }
    std::vector<Row> rows;
    for (const auto& [s, place] : growing) {
      const auto words = window(samples[s]);
      rows.push_back({.words = {words.begin(), words.end()},
                      .draw = draw(s, samples[s].size()),
                      .text = static_cast<int64_t>(s),
                      .place = place});
    }
    // Once rank 0 has no rows left, next() returns nothing on every rank, so all ranks end
    // together.
    const auto chosen = rounds_.next(rows, 1, choose_);
    for (size_t r = 0; r < growing.size(); ++r) {
      samples[growing[r].sample].push_back(chosen[r][0].word);
    }
    added += std::ssize(growing);
    std::erase_if(growing, [&](const Growing& one) {
      const Tokens& tokens = samples[one.sample];
      if (!has_ended(tokens, tokens.size() - prompt_size(one.sample), is_over)) return false;
      exit.note_done(one.sample);
      places.give_back(one.place);
      return true;
    });
    exit.show();
    if (chosen.empty()) return added;
  }
}

}  // namespace penstock
