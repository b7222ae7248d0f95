// Opens the files of parallel text as ParallelDatasets: every file is read and cut into pieces
// once, also where several pairs share it.
#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "kernels/error.h"
#include "runtime/data/datasets/share.h"
#include "runtime/data/datasets/translation/parallel.h"
#include "runtime/data/tokens/token_cache.h"

namespace penstock {
namespace {

using Lines = std::shared_ptr<const EncodedLines>;

// Counts the sentence pairs that were left out, by reason. The user is told these numbers.
struct LeftOut {
  size_t too_long = 0, empty = 0;
};

// Returns the numbers behind `begin`, or an empty text where nothing was left out.
std::string left_out_text(const char* begin, const LeftOut& pairs) {
  if (pairs.too_long + pairs.empty == 0) return {};
  return begin + std::to_string(pairs.too_long) + " too long, " + std::to_string(pairs.empty) +
         " empty";
}

class ParallelOpener {
 public:
  ParallelOpener(const DataConfig& config, int64_t context)
      : config_(config),
        context_(context),
        longest_(config.longest > 0 ? config.longest : context),
        vocabulary_(std::make_shared<Pieces>(config.vocabulary)),
        pairs_(language_pairs(config.pairs)) {
    find_tags();
  }

  Datasets open() {
    const auto share = share_of(config_.validation);
    std::vector<PairCorpus> training = corpora(config_.train);
    const LeftOut of_training = std::exchange(left_out_, {});
    std::vector<PairCorpus> held_out;
    if (share) {
      for (PairCorpus& pair : training) held_out.push_back(split_off(pair, *share));
    } else if (!config_.validation.empty()) {
      held_out = corpora(config_.validation);
    }
    Datasets sets;
    sets.vocabulary = vocabulary_->size();
    sets.note = describe(training) + left_out_text("; left out: ", of_training) +
                left_out_text("; left out of the validation data: ", left_out_);
    if (!kept_note_.empty()) sets.note += "; " + kept_note_;
    sets.train = std::make_shared<ParallelDataset>(std::move(training), vocabulary_, context_,
                                                   config_.temperature);
    if (!held_out.empty()) {
      sets.validation =
          std::make_shared<ParallelDataset>(std::move(held_out), vocabulary_, context_, 1.0);
    }
    return sets;
  }

 private:
  // Looks up the pieces that tell a network which target language is wanted. Refuses a vocabulary
  // that lacks such a piece if there are several target languages. A single target language needs
  // no such piece.
  void find_tags() {
    std::set<std::string> targets;
    for (const LanguagePair& pair : pairs_) targets.insert(pair.target);
    for (const LanguagePair& pair : pairs_) {
      const std::optional<int32_t> id = vocabulary_->find(pair.tag());
      if (!id && targets.size() > 1) {
        fail_input(config_.vocabulary + " has no piece " + pair.tag() +
                   ", which tells a network with several target languages which one is wanted: "
                   "train it with --control_symbols, or leave data.vocabulary empty");
      }
      tags_.push_back(id.value_or(-1));
    }
  }

  Lines encoded(const std::string& path) {
    Lines& lines = files_[path];
    if (lines) return lines;
    TextInPieces text = text_in_pieces(path, config_, *vocabulary_, TextForm::Lines);
    if (kept_note_.empty()) kept_note_ = std::move(text.note);
    if (text.starts.size() < 2) {
      fail_input(path + " is empty: give a text with a sentence on each line");
    }
    lines = std::make_shared<const EncodedLines>(
        EncodedLines{path, std::move(text.tokens), std::move(text.starts)});
    return lines;
  }

  std::vector<PairCorpus> corpora(const std::string& path) {
    std::vector<PairCorpus> all;
    for (size_t p = 0; p < pairs_.size(); ++p) {
      const LanguagePair& pair = pairs_[p];
      all.push_back({pair.name,
                     tags_[p],
                     encoded(corpus_path(path, pair, pair.source)),
                     encoded(corpus_path(path, pair, pair.target)),
                     {}});
      select(all.back());
    }
    return all;
  }

  void select(PairCorpus& pair) {
    if (pair.source->size() != pair.target->size()) {
      fail_input(pair.source->path + " has " + std::to_string(pair.source->size()) +
                 " lines and its translation " + pair.target->path + " has " +
                 std::to_string(pair.target->size()) +
                 ": line n of one must be line n of the other");
    }
    const auto most = static_cast<size_t>(std::min(longest_, context_ - 1));
    const size_t most_of_source = std::min(most, static_cast<size_t>(context_ - 2));
    const LeftOut before = left_out_;
    for (size_t i = 0; i < pair.source->size(); ++i) {
      const size_t source = pair.source->pieces_of(i);
      const size_t target = pair.target->pieces_of(i);
      if (source == 0 || target == 0) {
        ++left_out_.empty;
      } else if (source > most_of_source || target > most) {
        ++left_out_.too_long;
      } else {
        pair.lines.push_back(static_cast<uint32_t>(i));
      }
    }
    if (pair.lines.empty()) {
      refuse_all(pair, {.too_long = left_out_.too_long - before.too_long,
                        .empty = left_out_.empty - before.empty});
    }
  }

  // Throws, since all sentence pairs of `pair` were left out.
  [[noreturn]] void refuse_all(const PairCorpus& pair, const LeftOut& why) const {
    const bool by_key = config_.longest > 0 && config_.longest < context_ - 2;
    const std::string limit = by_key ? "data.longest = " + std::to_string(config_.longest)
                                     : "model.context = " + std::to_string(context_);
    std::string reasons, cure;
    if (why.empty > 0) {
      reasons = std::to_string(why.empty) + " have an empty side";
      cure = "see whether the files are the right ones";
    }
    if (why.too_long > 0) {
      reasons +=
          (reasons.empty() ? "" : ", ") + std::to_string(why.too_long) + " do not fit " + limit;
      cure = "raise " + limit.substr(0, limit.find(' ')) + " or use shorter sentences";
    }
    fail_input("no sentence pair of " + pair.source->path + " and " + pair.target->path +
               " can be learnt: of " + std::to_string(pair.source->size()) + " pairs " + reasons +
               ": " + cure);
  }

  static PairCorpus split_off(PairCorpus& pair, double share) {
    const auto kept = static_cast<size_t>(static_cast<double>(pair.lines.size()) * (1.0 - share));
    if (kept == 0 || kept == pair.lines.size()) {
      fail_input("data.validation leaves a part of " + pair.source->path +
                 " without a sentence: use another share");
    }
    PairCorpus held_out = pair;
    held_out.lines.erase(held_out.lines.begin(),
                         held_out.lines.begin() + static_cast<ptrdiff_t>(kept));
    pair.lines.resize(kept);
    return held_out;
  }

  [[nodiscard]] std::string describe(const std::vector<PairCorpus>& training) const {
    std::string text = "parallel text:";
    for (const PairCorpus& pair : training) {
      text += (&pair == training.data() ? " " : ", ") + pair.name + " " +
              std::to_string(pair.lines.size());
    }
    return text + " sentence pairs, " + std::to_string(vocabulary_->size()) + " pieces";
  }

  const DataConfig& config_;
  int64_t context_, longest_;
  std::shared_ptr<const Pieces> vocabulary_;
  std::vector<LanguagePair> pairs_;
  std::vector<int32_t> tags_;  // the tag of each pair; -1 if it has none
  std::map<std::string, Lines> files_;
  LeftOut left_out_;  // of the files that are being read
  std::string kept_note_;
};

}  // namespace

Datasets open_parallel(const DataConfig& config, int64_t context) {
  if (context < 3) fail_input("data.kind = \"parallel\" needs model.context >= 3");
  if (config.vocabulary.empty()) fail_internal("parallel text was opened without a vocabulary");
  return ParallelOpener(config, context).open();
}

}  // namespace penstock
