#include "runtime/engine/decoding/generator.h"

#include <algorithm>
#include <deque>

#include "kernels/error.h"
#include "kernels/philox.h"

namespace penstock {
namespace {

// Keeps the samples that have begun and are not shown to their end, and shows them in their order,
// even when a later one is done first.
class Texts {
 public:
  explicit Texts(const Generator::Show& show) : show_(show) {}
  // How many samples have begun, which is the number of the next one.
  [[nodiscard]] size_t begun() const { return first_ + texts_.size(); }
  void begin(const Generator::Tokens& prompt) { texts_.push_back({prompt, false}); }
  [[nodiscard]] Generator::Tokens& tokens(size_t sample) { return texts_[sample - first_].tokens; }
  void note_done(size_t sample) { texts_[sample - first_].done = true; }
  // Shows, in order, the samples finished since the last call, which are then dropped, and the
  // first unfinished sample as far as it has come.
  void show() {
    for (; !texts_.empty(); ++first_) {
      show_(first_, texts_.front().tokens, texts_.front().done);
      if (!texts_.front().done) return;
      texts_.pop_front();
    }
  }

 private:
  struct Text {
    Generator::Tokens tokens;
    bool done;
  };
  const Generator::Show& show_;
  std::deque<Text> texts_;
  size_t first_ = 0;  // the number of the sample in front
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
  const auto samples = static_cast<size_t>(options_.samples);
  Texts texts(show);
  std::vector<Growing> growing;
  Places places = rounds_.places(1);
  int64_t added = 0;
  for (;;) {
    while (texts.begun() < prompts.size() * samples && places.any_free()) {
      const size_t sample = texts.begun();
      texts.begin(prompts[sample / samples]);
      if (options_.tokens > 0) {
        growing.push_back({sample, places.take()});
      } else {
        texts.note_done(sample);
        texts.show();
      }
    }
    std::vector<Row> rows;
    for (const auto& [s, place] : growing) {
      const Tokens& tokens = texts.tokens(s);
      const auto words = window(tokens);
      rows.push_back({.words = {words.begin(), words.end()},
                      .draw = draw(s, tokens.size()),
                      .text = static_cast<int64_t>(s),
                      .place = place});
    }
    // Once rank 0 has no rows left, next() returns nothing on every rank, so all ranks end
    // together.
    const auto chosen = rounds_.next(rows, 1, choose_);
    for (size_t r = 0; r < growing.size(); ++r) {
      texts.tokens(growing[r].sample).push_back(chosen[r][0].word);
    }
    added += std::ssize(growing);
    std::erase_if(growing, [&](const Growing& one) {
      const Tokens& tokens = texts.tokens(one.sample);
      const size_t prompt = prompts[one.sample / samples].size();
      if (!has_ended(tokens, tokens.size() - prompt, is_over)) return false;
      texts.note_done(one.sample);
      places.give_back(one.place);
      return true;
    });
    texts.show();
    if (chosen.empty()) return added;
  }
}

}  // namespace penstock
