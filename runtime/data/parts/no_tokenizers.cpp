// runtime/data/parts/no_tokenizers.cpp -- stands for pieces.cpp, expression.cpp, normal_form.cpp
// and characters.cpp in a build without tokenizers: templates know ASCII letters all the same.
#include "runtime/data/parts/part.h"
#include "runtime/data/templates/values/characters.h"
#include "runtime/data/tokenizer/pieces.h"
#include "runtime/data/tokenizer/steps/expression.h"
#include "runtime/data/tokenizer/steps/normal_form.h"

namespace penstock {

struct Pieces::Processor {};

namespace {

[[noreturn]] void fail_without_pieces(const std::string& wanted) {
  fail_without(kTokenizers, wanted);
}

}  // namespace

Pieces::Pieces(const std::string& path) {
  fail_without_pieces("the vocabulary " + path);
}

// The members below are never called: the constructor throws, so there is no object.
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

struct Expression::Compiled {};

std::string expression_library() {
  return {};
}

Expression::Expression(const Pattern& /*pattern*/, const std::string& where) {
  fail_without(kTokenizers, "the tokenizer " + where);
}

// The members below are never called: the constructor throws, so there is no object.
Expression::~Expression() = default;
Expression::Expression(Expression&&) noexcept = default;
Expression& Expression::operator=(Expression&&) noexcept = default;

void Expression::for_each_match(std::string_view /*text*/,
                                const std::function<void(size_t, size_t)>& /*take*/) const {
  fail_without(kTokenizers, "a tokenizer");
}

std::string_view normal_form(std::string_view /*text*/, NormalForm /*form*/,
                             std::string& /*storage*/) {
  fail_without(kTokenizers, "a tokenizer with the normalizers NFC, NFD, NFKC and NFKD");
}

std::string lower_case(std::string_view /*text*/) {
  fail_without(kTokenizers, "a tokenizer with the normalizer Lowercase");
}

std::string without_marks(std::string_view /*text*/) {
  fail_without(kTokenizers, "a tokenizer with the normalizer StripAccents");
}

std::string normal_form_library() {
  return {};
}

}  // namespace penstock

namespace penstock::jinja {

namespace {

[[noreturn]] void fail_beyond_ascii() {
  fail_without(kTokenizers, "a chat template that changes or names letters beyond ASCII");
}

char ascii_in_case(char c, bool upper) {
  if (upper && c >= 'a' && c <= 'z') return static_cast<char>(c - 'a' + 'A');
  if (!upper && c >= 'A' && c <= 'Z') return static_cast<char>(c - 'A' + 'a');
  return c;
}

}  // namespace

std::string in_case(std::string_view text, Case wanted) {
  if (!only_ascii(text)) fail_beyond_ascii();
  std::string written(text);
  for (size_t i = 0; i < written.size(); ++i) {
    const bool upper = wanted == Case::Upper || (wanted == Case::Capital && i == 0);
    written[i] = ascii_in_case(written[i], upper);
  }
  return written;
}

bool printable(char32_t c) {
  if (c >= 0x80) fail_beyond_ascii();
  return c >= 0x20 && c < 0x7F;
}

std::optional<char32_t> named_character(const std::string& /*name*/) {
  fail_beyond_ascii();
}

}  // namespace penstock::jinja
