// runtime/data/parts/no_pieces.cpp -- stands for text/pieces.cpp in a build without SentencePiece.
#include "runtime/data/parts/part.h"
#include "runtime/data/text/pieces.h"

namespace penstock {

struct Pieces::Processor {};

namespace {

[[noreturn]] void fail_without_pieces(const std::string& wanted) {
  fail_without(kSentencePiece, wanted);
}

}  // namespace

Pieces::Pieces(const std::string& path) {
  fail_without_pieces("the vocabulary " + path);
}

// There is no object of the class to ask for these.
Pieces::~Pieces() = default;

int64_t Pieces::size() const {
  fail_to_cut({});
}

VocabularyPiece Pieces::at(int32_t /*id*/) const {
  fail_to_cut({});
}

void Pieces::fail_to_cut(const std::string& /*why*/) const {
  fail_without_pieces("a vocabulary of word pieces");
}

std::vector<int32_t> Pieces::encode(std::string_view /*text*/) const {
  fail_to_cut({});
}

std::string Pieces::decode(std::span<const int32_t> /*ids*/) const {
  fail_to_cut({});
}

std::string Pieces::unknown_in(std::string_view /*text*/) const {
  fail_to_cut({});
}

std::optional<int32_t> Pieces::find(const std::string& /*piece*/) const {
  fail_to_cut({});
}

std::string train_pieces(const std::vector<std::string>& /*sentences*/, const PieceTraining& how) {
  fail_without_pieces("a vocabulary of " + std::to_string(how.size) + " word pieces");
}

}  // namespace penstock
