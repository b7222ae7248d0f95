// runtime/data/tokenizer/pieces.h -- Pieces: a vocabulary of word pieces (Kudo and Richardson
// 2018), by the SentencePiece library, with our errors; and the training of one.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace penstock {

struct VocabularyPiece {
  std::string text;
  bool control = false;       // for special tokens: no text becomes it
  bool user_defined = false;  // found in texts before they are cut
};

class Pieces {
 public:
  // Reads a .model file of SentencePiece, of ours or of anybody's. Throws Error(Input) when there
  // is no readable file, Error(Data) naming it when it is no such file or has no piece that ends a
  // sentence.
  explicit Pieces(const std::string& path);
  ~Pieces();
  Pieces(const Pieces&) = delete;
  Pieces& operator=(const Pieces&) = delete;

  [[nodiscard]] int64_t size() const;
  [[nodiscard]] VocabularyPiece at(int32_t id) const;  // `id` in [0, size())
  // Thread safe. A control piece like <2de> in `text` is taken for plain text.
  [[nodiscard]] std::vector<int32_t> encode(std::string_view text) const;
  // Control pieces (begin, end, tags) leave no trace; an id outside the vocabulary neither.
  [[nodiscard]] std::string decode(std::span<const int32_t> ids) const;

  [[nodiscard]] int32_t begin() const { return begin_; }  // of a sentence; `end` where it has none
  [[nodiscard]] int32_t end() const { return end_; }
  // The first characters that no piece has; empty: encode() loses nothing.
  [[nodiscard]] std::string unknown_in(std::string_view text) const;
  [[nodiscard]] std::optional<int32_t> find(const std::string& piece) const;  // its id

 private:
  struct Processor;
  [[noreturn]] void fail_to_cut(const std::string& why) const;

  std::string path_;
  std::unique_ptr<Processor> processor_;
  std::vector<bool> user_defined_;  // by id
  int32_t begin_ = 0, end_ = 0;
};

struct PieceTraining {
  int64_t size = 8000;  // pieces, all kinds together
  // Control pieces: no text becomes one, so nothing in the data can pose as one.
  std::vector<std::string> control = {};
  // true: decoding gives the very bytes back: nothing is normalised, unknown characters become
  // bytes. false: text is normalised (NFKC, spaces), as is usual in translation.
  bool lossless = false;
};

// Trains a unigram model on the sentences and returns it as the bytes of a .model file: the same
// for the same sentences in the same order. Throws Error(Input) when they do not make how.size
// pieces.
[[nodiscard]] std::string train_pieces(const std::vector<std::string>& sentences,
                                       const PieceTraining& how);

}  // namespace penstock
