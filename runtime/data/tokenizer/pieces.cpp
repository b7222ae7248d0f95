#include "runtime/data/tokenizer/pieces.h"

#include <sentencepiece_processor.h>
#include <sentencepiece_trainer.h>

#include <algorithm>
#include <exception>
#include <unordered_map>

#include "kernels/error.h"
#include "kernels/joined.h"
#include "runtime/data/tokenizer/piece_model.h"
#include "runtime/system/files/input_file.h"
#include "runtime/system/files/stand_in.h"

namespace penstock {

struct Pieces::Processor {
  sentencepiece::SentencePieceProcessor model;
};

namespace {

// Returns the reason at the end of an error of SentencePiece: "Vocabulary size too high (99)" for
// "Internal: src/trainer_interface.cc(582) [(a) == (b)] Vocabulary size too high (99)...".
std::string reason(const sentencepiece::util::Status& status) {
  std::string text = status.ToString();
  const size_t bracket = text.rfind("] ");
  if (bracket != std::string::npos) text = text.substr(bracket + 2);
  std::ranges::replace(text, '\n', ' ');
  while (text.ends_with(' ') || text.ends_with('.')) text.pop_back();
  return text;
}

class Sentences final : public sentencepiece::SentenceIterator {
 public:
  explicit Sentences(const std::vector<std::string>& sentences) : sentences_(sentences) {}
  [[nodiscard]] bool done() const override { return at_ >= sentences_.size(); }
  void Next() override { ++at_; }
  [[nodiscard]] const std::string& value() const override { return sentences_[at_]; }
  [[nodiscard]] sentencepiece::util::Status status() const override { return {}; }

 private:
  const std::vector<std::string>& sentences_;
  size_t at_ = 0;
};

// Returns whether SentencePiece can load the model. SentencePiece returns most of its errors, but
// some are thrown by the libraries below it, for example if a piece is empty.
bool loads(sentencepiece::SentencePieceProcessor& model, std::string_view proto) {
  try {
    return model.LoadFromSerializedProto(proto).ok();
  } catch (const std::exception&) {
    return false;
  }
}

}  // namespace

Pieces::Pieces(const std::string& path) : path_(path), processor_(std::make_unique<Processor>()) {
  auto& model = processor_->model;
  constexpr int64_t kMostModelBytes = int64_t{64} << 20;  // enough for a million pieces
  const std::vector<uint8_t> bytes = InputFile(path).read_all(kMostModelBytes);
  const std::string_view proto(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  refuse_stand_in(proto.substr(0, kStandInBytes), path);
  check_piece_model(bytes, path);
  if (bytes.empty() || !loads(model, proto)) {
    fail_data(path + " (all of its " + std::to_string(bytes.size()) +
              " bytes) is no SentencePiece model: give a .model file, or none to train one");
  }
  user_defined_ = user_defined_pieces(bytes, path);
  end_ = model.eos_id();
  begin_ = model.bos_id() >= 0 ? model.bos_id() : end_;
  if (end_ < 0) {
    fail_data(path + " has no piece for the end of a sentence: train it with --eos_id=3, say");
  }
}

Pieces::~Pieces() = default;

int64_t Pieces::size() const {
  return processor_->model.GetPieceSize();
}

VocabularyPiece Pieces::at(int32_t id) const {
  const auto& model = processor_->model;
  return {.text = model.IdToPiece(id),
          .control = model.IsControl(id),
          .user_defined = user_defined_.at(static_cast<size_t>(id))};
}

// Throws Error(Data). It blames the file, because a valid model can cut any text.
void Pieces::fail_to_cut(const std::string& why) const {
  fail_data(path_ + " (all of its " + std::to_string(size()) +
            " pieces) cannot cut a text: " + why);
}

std::vector<int32_t> Pieces::encode(std::string_view text) const {
  std::vector<int> ids;
  const auto status = processor_->model.Encode({text.data(), text.size()}, &ids);
  if (!status.ok()) fail_to_cut(reason(status));
  return ids;
}

std::string Pieces::decode(std::span<const int32_t> ids) const {
  std::vector<int> known;
  known.reserve(ids.size());
  for (int32_t id : ids) {
    if (id >= 0 && id < size()) known.push_back(id);
  }
  std::string text;
  const auto status = processor_->model.Decode(known, &text);
  if (!status.ok()) fail_internal("pieces cannot be joined: " + reason(status));
  return text;
}

std::string Pieces::unknown_in(std::string_view text) const {
  const auto& model = processor_->model;
  std::vector<std::string> pieces;
  const auto status = model.Encode({text.data(), text.size()}, &pieces);
  if (!status.ok()) fail_to_cut(reason(status));
  for (const std::string& piece : pieces) {
    if (model.IsUnknown(model.PieceToId(piece))) return piece;
  }
  return {};
}

std::optional<int32_t> Pieces::find(const std::string& piece) const {
  const auto& model = processor_->model;
  const int id = model.PieceToId(piece);
  if (model.IdToPiece(id) != piece) return std::nullopt;
  return id;
}

std::string train_pieces(const std::vector<std::string>& sentences, const PieceTraining& how) {
  std::unordered_map<std::string, std::string> options = {
      {"model_type", "unigram"},
      {"vocab_size", std::to_string(how.size)},
      {"pad_id", "0"},
      {"unk_id", "1"},
      {"bos_id", "2"},
      {"eos_id", "3"},
      {"character_coverage", how.lossless ? "0.9995" : "1.0"},
      {"byte_fallback", how.lossless ? "true" : "false"},
      {"remove_extra_whitespaces", how.lossless ? "false" : "true"},
      {"normalization_rule_name", how.lossless ? "identity" : "nmt_nfkc"},
      {"max_sentence_length", "16384"},
      {"num_threads", "1"},  // adds in one order: the file is the same everywhere
      {"minloglevel", "2"}};
  if (!how.control.empty()) options["control_symbols"] = joined(how.control, ",");
  Sentences all(sentences);
  std::string proto;
  const auto status = sentencepiece::SentencePieceTrainer::Train(options, &all, &proto);
  if (!status.ok() || proto.empty()) {
    fail_input("no vocabulary of " + std::to_string(how.size) + " pieces can be trained on these " +
               std::to_string(sentences.size()) + " lines: " + reason(status) +
               "; change data.vocabulary_size");
  }
  return proto;
}

}  // namespace penstock
