// A word as pieces of a unigram model (Kudo 2018): of all ways to cut it that with the highest sum
// of scores.
#include <algorithm>
#include <limits>
#include <utility>

#include "kernels/error.h"
#include "runtime/data/tokenizer/models/word_model.h"
#include "runtime/data/tokenizer/utf8.h"

namespace penstock {
namespace {

// A character that is in no piece scores this much less than the worst piece.
constexpr double kUnknownPenalty = 10.0;

// This is a tree of the bytes of all pieces. It finds the pieces that a text begins with.
class Tree {
 public:
  void add(std::string_view piece, int32_t id) {
    uint64_t node = 0;
    for (const char c : piece) {
      const auto [next, added] = next_.emplace(key(node, c), pieces_.size());
      if (added) pieces_.push_back(-1);
      node = next->second;
    }
    pieces_[node] = id;
  }

  // Calls take(bytes, id) for each piece that `text` begins with, the shortest first.
  template <class Take>
  void for_each_beginning(std::string_view text, const Take& take) const {
    uint64_t node = 0;
    for (size_t i = 0; i < text.size(); ++i) {
      const auto next = next_.find(key(node, text[i]));
      if (next == next_.end()) return;
      node = next->second;
      if (pieces_[node] >= 0) take(i + 1, pieces_[node]);
    }
  }

 private:
  static uint64_t key(uint64_t node, char c) { return node << 8 | static_cast<uint8_t>(c); }

  std::unordered_map<uint64_t, uint64_t> next_;
  std::vector<int32_t> pieces_ = {-1};  // the piece that ends at each node; -1: none
};

class Unigram final : public WordModel {
 public:
  Unigram(const WordModelData& data, const std::string& where) : scores_(data.scores) {
    if (!data.unknown)
      fail_input(where + ": a Unigram model without an \"unk_id\" is not supported");
    unknown_ = *data.unknown;
    double worst = std::numeric_limits<double>::infinity();
    for (const double score : scores_) worst = std::min(worst, score);
    unknown_score_ = worst - kUnknownPenalty;
    for (const auto& [piece, id] : data.vocabulary) {
      tree_.add(piece, id);
      ids_.insert_or_assign(piece, id);
    }
    if (data.byte_fallback) fallback_.emplace(ids_);
  }

 private:
  // Describes the best way to cut the text before a place: its score, and where its last piece
  // begins.
  struct Best {
    double score = 0.0;
    size_t from = kNowhere;
    int32_t id = 0;  // the id of the last piece
  };
  static constexpr size_t kNowhere = std::numeric_limits<size_t>::max();

  [[nodiscard]] std::vector<Best> best_cuts(std::string_view word) const {
    std::vector<Best> best(word.size() + 1);
    for (size_t at = 0; at < word.size();) {
      const size_t character = utf8_at(word, at).bytes;
      bool alone = false;  // whether a piece is this character and nothing else
      const auto offer = [&](size_t bytes, int32_t id, double score) {
        Best& end = best[at + bytes];
        const double sum = score + best[at].score;
        if (end.from == kNowhere || sum > end.score) end = {sum, at, id};
      };
      tree_.for_each_beginning(word.substr(at), [&](size_t bytes, int32_t id) {
        offer(bytes, id, scores_[static_cast<size_t>(id)]);
        alone = alone || bytes == character;
      });
      if (!alone) offer(character, unknown_, unknown_score_);
      at += character;
    }
    return best;
  }

  [[nodiscard]] std::vector<int32_t> ids_of(std::string_view word) const override {
    const std::vector<Best> best = best_cuts(word);
    std::vector<std::string_view> pieces;  // from last to first; unknown neighbours are joined
    bool joins_unknown = false;
    for (size_t end = word.size(); end > 0; end = best[end].from) {
      const std::string_view piece = word.substr(best[end].from, end - best[end].from);
      const bool unknown = best[end].id == unknown_;
      if (unknown && joins_unknown) {
        pieces.back() = word.substr(best[end].from, piece.size() + pieces.back().size());
      } else {
        pieces.push_back(piece);
      }
      joins_unknown = unknown;
    }
    std::vector<int32_t> ids;
    for (auto piece = pieces.rbegin(); piece != pieces.rend(); ++piece) append(*piece, ids);
    return ids;
  }

  void append(std::string_view piece, std::vector<int32_t>& ids) const {
    if (const auto found = ids_.find(piece); found != ids_.end())
      return ids.push_back(found->second);
    if (!(fallback_ && fallback_->append(piece, ids))) ids.push_back(unknown_);
  }

  std::vector<double> scores_;  // by the id of the piece
  double unknown_score_ = 0.0;
  int32_t unknown_ = 0;
  Tree tree_;
  ByText<int32_t> ids_;
  std::optional<ByteFallback> fallback_;
};

}  // namespace

std::unique_ptr<WordModel> make_unigram(const WordModelData& data, const std::string& where) {
  return std::make_unique<Unigram>(data, where);
}

}  // namespace penstock
