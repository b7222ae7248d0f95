// runtime/data/tokenizer/pieces.h -- Pieces: a vocabulary of word pieces (Kudo and Richardson 2018)
// that turns texts into ids and back, by the library SentencePiece; and train_pieces(), which makes
// one from sentences.
//
// Used with data.tokenizer = "sentencepiece", for translation, and for folders with a
// tokenizer.model.
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
  bool control = false;       // a special token, such as the end of a sentence: no text becomes it
  bool user_defined = false;  // found in a text as a whole, before the rest is cut into pieces
};

class Pieces {
 public:
  // Reads a .model file of SentencePiece. Throws Error(Input) when there is no readable file, and
  // Error(Data) naming it when it is no such file or has no piece for the end of a sentence.
  explicit Pieces(const std::string& path);
  ~Pieces();
  Pieces(const Pieces&) = delete;
  Pieces& operator=(const Pieces&) = delete;

  [[nodiscard]] int64_t size() const;                  // number of pieces
  [[nodiscard]] VocabularyPiece at(int32_t id) const;  // `id` in [0, size())
  // The ids of the text, without begin() and end(). Thread safe. The name of a control piece, such
  // as "<2de>", in `text` is cut like any other text.
  [[nodiscard]] std::vector<int32_t> encode(std::string_view text) const;
  // The text of the ids. Control pieces, and ids outside the vocabulary, leave no trace.
  [[nodiscard]] std::string decode(std::span<const int32_t> ids) const;

  // The ids of the pieces for the beginning and end of a sentence; begin() is end() in a vocabulary
  // without the former.
  [[nodiscard]] int32_t begin() const { return begin_; }
  [[nodiscard]] int32_t end() const { return end_; }
  // The first characters of `text` that the vocabulary cannot write; empty: encode() loses nothing.
  [[nodiscard]] std::string unknown_in(std::string_view text) const;
  // The id of a piece; nullopt: the vocabulary does not have it.
  [[nodiscard]] std::optional<int32_t> find(const std::string& piece) const;

 private:
  struct Processor;
  [[noreturn]] void fail_to_cut(const std::string& why) const;

  std::string path_;
  std::unique_ptr<Processor> processor_;
  std::vector<bool> user_defined_;  // by id
  int32_t begin_ = 0, end_ = 0;
};

struct PieceTraining {
  int64_t size = 8000;  // number of pieces, of all kinds together
  // The texts of control pieces to add, such as "<2de>": no text becomes one, so nothing in the
  // data can be mistaken for one.
  std::vector<std::string> control = {};
  // True: decode() gives the very bytes of a text back, since nothing is normalised and unknown
  // characters are written as bytes. False: texts are normalised (NFKC, spaces), as is usual in
  // translation.
  bool lossless = false;
};

// Trains a vocabulary (a unigram model) on the sentences and returns the bytes of its .model file:
// the same bytes for the same sentences in the same order. Throws Error(Input) if the sentences do
// not make how.size pieces.
[[nodiscard]] std::string train_pieces(const std::vector<std::string>& sentences,
                                       const PieceTraining& how);

}  // namespace penstock
