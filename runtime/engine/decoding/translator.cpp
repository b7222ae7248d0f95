#include "runtime/engine/decoding/translator.h"

#include <algorithm>
#include <deque>

#include "kernels/error.h"
#include "kernels/joined.h"
#include "runtime/data/datasets/translation/language_pair.h"

namespace penstock {
namespace {

// Returns the id of the tag that names the target language, or -1 if the vocabulary has no such
// tag. Refuses a language that the network does not translate into.
int32_t tag_of(const Config& config, const std::string& target, const Pieces& pieces) {
  std::vector<std::string> known;
  for (const LanguagePair& pair : language_pairs(config.data.pairs)) {
    if (std::ranges::find(known, pair.target) == known.end()) known.push_back(pair.target);
  }
  const std::string list = joined(known, ", ");
  if (target.empty() && known.size() > 1) {
    fail_input("the network translates into " + list + ": name one with --to LANGUAGE");
  }
  const std::string wanted = target.empty() ? known[0] : target;
  if (std::ranges::find(known, wanted) == known.end()) {
    fail_input("--to " + wanted + ": the network translates into " + list);
  }
  return pieces.find("<2" + wanted + ">").value_or(-1);
}

bool is_blank(const std::string& sentence) {
  return sentence.find_first_not_of(" \t\r\n\v\f") == std::string::npos;
}

// This is a sentence that is being translated.
struct Job {
  size_t number;  // index among the sentences
  int64_t place;  // place of its first row in a round
  std::vector<int32_t> source;
  BeamSearch search;
};

}  // namespace

Translator::Translator(const Config& config, const TranslationOptions& options, Rounds& rounds)
    : options_(options),
      rounds_(rounds),
      pieces_(config.data.vocabulary),
      context_(config.model.context),
      tag_(tag_of(config, options.target, pieces_)) {
  if (options_.beams < 1 || options_.beams > rounds.rows_of_replica()) {
    fail_input("--beam " + std::to_string(options_.beams) + ": a round has place for 1 to " +
               std::to_string(rounds.rows_of_replica()) +
               " rows of a sentence; raise run.eval_batch");
  }
}

std::vector<int32_t> Translator::source_of(const std::string& sentence) {
  std::vector<int32_t> ids = pieces_.encode(sentence);
  const auto most = static_cast<size_t>(context_ - (tag_ >= 0 ? 2 : 1));
  if (ids.size() > most) {
    ids.resize(most);
    ++cut_;
  }
  if (tag_ >= 0) ids.insert(ids.begin(), tag_);
  ids.push_back(pieces_.end());
  return ids;
}

// Translates as many sentences at a time as a round has places for; when a sentence ends, the next
// one takes its place. With the cache, starting a sentence costs more than a round for the
// sentences under way. So new sentences wait until half of the places are free, and start together.
std::vector<std::string> Translator::translate(const std::vector<std::string>& sentences,
                                               const Show& show) {
  std::vector<std::string> translations(sentences.size());
  std::vector<bool> done(sentences.size());
  size_t shown = 0;
  scores_.assign(sentences.size(), 0.0);
  std::deque<Job> jobs;
  size_t started = 0;
  Places places = rounds_.places(options_.beams);
  const SearchOptions how = {.beams = options_.beams,
                             .length_penalty = options_.length_penalty,
                             .longest = context_ - 1,
                             .begin = pieces_.begin(),
                             .end = pieces_.end()};
  const int count = 2 * options_.beams;
  const auto best = [count](std::span<const float> logits, const Row&) {
    return best_candidates(logits, count);
  };
  const auto show_done = [&] {
    for (; show && shown < done.size() && done[shown]; ++shown) show(translations[shown]);
  };
  for (;;) {
    const bool room = !rounds_.caches() || std::ssize(jobs) <= places.texts() / 2;
    while (room && started < sentences.size() && places.any_free()) {
      if (is_blank(sentences[started])) {  // skipped: the network would invent a translation
        done[started++] = true;
        continue;
      }
      jobs.push_back({started, places.take(), source_of(sentences[started]), BeamSearch(how)});
      ++started;
    }
    std::vector<Row> rows;
    for (const Job& job : jobs) {
      int64_t place = job.place;
      for (const std::vector<int32_t>& words : job.search.rows()) {
        rows.push_back({.source = job.source,
                        .words = words,
                        .text = static_cast<int64_t>(job.number),
                        .place = place++});
      }
    }
    // Once rank 0 has no rows left, next() returns nothing on every rank, so all ranks end
    // together.
    const auto candidates = rounds_.next(rows, count, best);
    if (candidates.empty()) {
      show_done();
      return translations;
    }
    size_t at = 0;
    for (Job& job : jobs) {
      const size_t rows_of_job = job.search.rows().size();
      job.search.extend(std::span(candidates).subspan(at, rows_of_job));
      at += rows_of_job;
    }
    std::erase_if(jobs, [&](const Job& job) {
      if (!job.search.rows().empty()) return false;
      translations[job.number] = pieces_.decode(job.search.best());
      done[job.number] = true;
      scores_[job.number] = job.search.best_score();
      places.give_back(job.place);
      return true;
    });
    show_done();
  }
}

}  // namespace penstock
