#include "launch/program/commands/text_writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <utility>

#include "kernels/clock.h"
#include "launch/program/commands/stop_texts.h"
#include "launch/program/failure.h"
#include "launch/program/output.h"
#include "runtime/data/tokenizer/vocabulary.h"
#include "runtime/records/telemetry/units.h"

namespace penstock {
namespace {

// Decides which part of a growing text the user sees.
class View {
 public:
  View(const Tokenizer& tokenizer, bool keep_special, std::span<const std::string> stops,
       std::vector<int32_t> ends)
      : tokenizer_(tokenizer), keep_special_(keep_special), stops_(stops), ends_(std::move(ends)) {}

  [[nodiscard]] std::string text(std::span<const int32_t> tokens) const {
    return keep_special_ ? tokenizer_.decode(tokens) : tokenizer_.decode_shown(tokens);
  }
  // Returns the tokens that follow a prompt as the text of a message in a conversation.
  [[nodiscard]] std::string message(std::span<const int32_t> tokens) const {
    const bool ended = !tokens.empty() && is_end(tokens.back());
    std::string text = tokenizer_.decode_shown(tokens.first(tokens.size() - (ended ? 1 : 0)));
    text.resize(to_show(text, true));
    return text;
  }
  // Returns the text that follows the prompt. The token that ends the text is left out, unless
  // special tokens are kept.
  [[nodiscard]] std::string answer(std::span<const int32_t> tokens, size_t added) const {
    const size_t prompt = text(tokens.first(tokens.size() - added)).size();
    const bool ended = added > 0 && is_end(tokens.back());
    if (ended && !keep_special_) tokens = tokens.first(tokens.size() - 1);
    std::string all = text(tokens);
    return all.substr(std::min(prompt, all.size()));
  }
  [[nodiscard]] bool is_over(std::span<const int32_t> tokens, size_t added) const {
    return has_stop(answer(tokens, added), stops_);
  }
  [[nodiscard]] size_t to_show(std::string_view answer, bool done) const {
    return bytes_to_show(answer, stops_, done);
  }

 private:
  [[nodiscard]] bool is_end(int32_t token) const {
    return std::ranges::find(ends_, token) != ends_.end();
  }

  const Tokenizer& tokenizer_;
  bool keep_special_;
  std::span<const std::string> stops_;
  std::vector<int32_t> ends_;
};

// Writes each sample to standard output as it grows, with a line of dashes between two samples.
class Output {
 public:
  Output(const View& view, const std::vector<Prompt>& prompts, int64_t samples)
      : view_(view), prompts_(prompts), samples_(static_cast<size_t>(samples)) {}

  void show(size_t sample, std::span<const int32_t> tokens, bool done) {
    const Prompt& prompt = prompts_[sample / samples_];
    if (!begun_) {
      if (sample > 0) answer("----\n");
      pieces_.write(view_.text(std::span(prompt.tokens).subspan(prompt.hidden)));
    }
    begun_ = true;
    const size_t added = tokens.size() - prompt.tokens.size();
    const std::string text = view_.answer(tokens.subspan(prompt.hidden), added);
    const size_t now = std::max(written_, view_.to_show(text, done));
    pieces_.write(std::string_view(text).substr(std::min(written_, text.size()), now - written_));
    written_ = now;
    if (done) {
      last_ = view_.message(tokens.last(added));
      pieces_.end();
      answer("\n");
      written_ = 0;
      begun_ = false;
    }
  }
  // Returns the text of the last finished sample, without its prompt.
  [[nodiscard]] const std::string& last() const { return last_; }

 private:
  const View& view_;
  const std::vector<Prompt>& prompts_;
  size_t samples_;      // samples of each prompt
  size_t written_ = 0;  // bytes shown of the current sample, without its prompt
  bool begun_ = false;  // whether the current sample has begun
  AnswerPieces pieces_;
  std::string last_;
};

// Returns the generation settings of the folder that the network comes from. For a network from no
// folder, those of the tokenizer's folder are returned.
GenerationConfig folder_says(const Config& config) {
  if (!config.model.from.empty()) return read_generation_config(config.model.from);
  return uses_folder(config.data) ? read_generation_config(config.data.vocabulary)
                                  : GenerationConfig{};
}

}  // namespace

TextWriter::TextWriter(const TrainedRun& run, const UseOptions& options)
    : run_(run),
      options_(options),
      how_(options.generation),
      stops_(options.stops),
      rounds_(run.config, *run.pipeline, run.blueprint->model, *run.network, *run.device,
              options.cache) {
  std::vector<std::string> said;
  on_every_rank([&] {
    if (run.blueprint->input.field != "tokens") {
      fail_input("this network does not write text: model.kind is " + run.config.model.kind);
    }
    tokenizer_ = open_tokenizer(run.config.data, rounds_.classes());
    const GenerationConfig folder = folder_says(run.config);
    said = settle_generation(how_, options.asked, folder, *tokenizer_);
    stops_.insert(stops_.end(), folder.stops.begin(), folder.stops.end());
  });
  if (run.network->world().rank() != 0) return;
  for (const std::string& line : said) tell(line);
  if (const std::string note = tokenizer_->note(); !note.empty()) tell("note: " + note);
}

void TextWriter::end_at(int32_t token) {
  if (std::ranges::find(how_.ends, token) == how_.ends.end()) how_.ends.push_back(token);
}

void TextWriter::warn_of_loss(const Prompt& prompt, const std::string& name) const {
  const int64_t context = run_.config.model.context;
  if (std::ssize(prompt.tokens) <= context) return;
  tell(
      fmt::format("warning: {} has {} tokens, of which the network sees the last model.context = "
                  "{}",
                  name, prompt.tokens.size(), context));
}

std::string TextWriter::write(const std::vector<Prompt>& prompts, bool tells_speed) {
  std::vector<Generator::Tokens> tokens;
  tokens.reserve(prompts.size());
  for (const Prompt& prompt : prompts) tokens.push_back(prompt.tokens);
  const View view(*tokenizer_, options_.keep_special, stops_, how_.ends);
  Output output(view, prompts, how_.samples);
  const auto show = [&](size_t sample, std::span<const int32_t> text, bool done) {
    output.show(sample, text, done);
  };
  Generator::IsOver is_over;
  if (!stops_.empty()) {
    is_over = [&](std::span<const int32_t> text, size_t n) { return view.is_over(text, n); };
  }
  if (tells_speed && run_.network->world().rank() == 0) {
    int64_t longest = 0;
    for (const Prompt& prompt : prompts) longest = std::max(longest, std::ssize(prompt.tokens));
    const std::string note =
        context_note(run_.config.model.context, longest + how_.tokens, rounds_.cache_bytes());
    if (!note.empty()) tell("note: " + note);
  }
  Generator generator(run_.config, how_, tokenizer_->size(), rounds_);
  HostClock clock(1);
  const int64_t added = generator.generate(tokens, show, is_over);
  clock.mark(0);
  const double seconds = clock.seconds(0);
  if (tells_speed && run_.network->world().rank() == 0 && added > 0) {
    const std::string cache =
        rounds_.caches() ? "; cache " + bytes_text(rounds_.cache_bytes()) + " on rank 0" : "";
    fmt::print(stderr, "penstock: {} in {:.2f} s, {:.0f} tokens/s{}\n", amount_text(added, "token"),
               seconds, static_cast<double>(added) / seconds, cache);
  }
  return output.last();
}

}  // namespace penstock
