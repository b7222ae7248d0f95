// The version of the rules by which texts are cut (tokens/cut_text.h): what was kept by older rules
// must not be taken for what the rules of today give.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "kernels/philox.h"
#include "runtime/data/tokens/token_cache.h"
#include "runtime/system/files/json.h"
#include "tuning_lines.h"

namespace penstock::test {
namespace {

using nlohmann::json;

const std::string kWordGoldens = PENSTOCK_WORDS;

// The sum of what all forms below are cut into, and the version of the rules that gave it.
constexpr uint64_t kVersionOfSum = 2;
constexpr uint64_t kSumOfIds = 0xe9821f673009fae3;

class IdSum {
 public:
  void add(std::span<const int32_t> ids) {
    for (const int32_t id : ids) sum_ = mix(sum_ ^ static_cast<uint32_t>(id));
    sum_ = mix(sum_ + ids.size());
  }
  void add(const TokenSource& tokens) {
    std::vector<int32_t> ids(static_cast<size_t>(tokens.size()));
    tokens.read(0, ids);
    add(ids);
  }
  [[nodiscard]] uint64_t value() const { return sum_; }

 private:
  uint64_t sum_ = 1;
};

// A model of SentencePiece with these pieces, as protocol buffers have it.
std::string model_of_pieces(const std::vector<std::pair<std::string, int>>& pieces) {
  std::string model;
  float score = 0.0F;
  for (const auto& [text, type] : pieces) {
    std::string piece = "\x0A" + std::string(1, static_cast<char>(text.size())) + text + "\x15";
    score -= 0.5F;
    piece.append(reinterpret_cast<const char*>(&score), sizeof score);
    piece += "\x18" + std::string(1, static_cast<char>(type));
    model += "\x0A" + std::string(1, static_cast<char>(piece.size())) + piece;
  }
  return model;
}

std::string text_of_goldens() {
  std::string text;
  const json lines = read_json_file(kWordGoldens + "/lines.json", 1 << 20, FileOwner::User);
  for (const json& line : lines["lines"]) {
    const std::string hex = line["hex"];
    for (size_t i = 0; i + 1 < hex.size(); i += 2) {
      text += static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16));
    }
    text += '\n';
  }
  return text;
}

void add_folders(IdSum& sum, const std::string& text) {
  for (const char* family : {"gpt2", "llama3", "qwen"}) {
    const DataConfig config{.vocabulary = kWordGoldens + "/" + family};
    sum.add(*text_by_tokenizer(text, config, *open_hub_tokenizer(config.vocabulary)).tokens);
  }
  const json goldens =
      json::parse(read_text(kWordGoldens + "/forms.json", 1 << 20, FileOwner::User));
  const TemporaryFolder folder;
  for (const json& form : goldens["forms"]) {
    json file = goldens["vocabularies"][form["vocabulary"].get<std::string>()];
    for (const auto& [place, part] : form["parts"].items()) file[json::json_pointer(place)] = part;
    write_file(folder / "tokenizer.json", file.dump());
    const auto tokenizer = open_hub_tokenizer(folder / "");
    for (const json& line : goldens["lines"]) {
      sum.add(tokenizer->encode_whole(line.get<std::string>()));
    }
  }
}

void add_pieces(IdSum& sum, const std::string& text) {
  constexpr int kNormal = 1, kUnknown = 2, kControl = 3;
  const TemporaryFolder folder;
  std::vector<std::pair<std::string, int>> all = {
      {"<unk>", kUnknown}, {"<s>", kControl}, {"</s>", kControl}, {"<line>", kControl}};
  for (const char* piece : {"\xE2\x96\x81", "th", "in", "ou", "\xE2\x96\x81t", "he", "er", "12"}) {
    all.emplace_back(piece, kNormal);
  }
  for (char c = 'a'; c <= 'z'; ++c) all.emplace_back(std::string(1, c), kNormal);
  write_file(folder / "own.model", model_of_pieces(all));
  const DataConfig config{.vocabulary = folder / "own.model"};
  const Pieces pieces(config.vocabulary);
  for (const TextForm form : {TextForm::Row, TextForm::Lines}) {
    sum.add(*text_in_pieces(text, config, pieces, form).tokens);
  }
}

using CutVersion = Tuning;

TEST_F(CutVersion, IsRaisedWhenATextIsCutIntoOtherIds) {
  IdSum sum;
  write_file(files_ / "text", text_of_goldens());
  add_folders(sum, files_ / "text");
  add_pieces(sum, files_ / "text");
  const Datasets sets = open(
      R"({"text": "To be, or not to be"})"
      "\n"
      R"({"prompt": "Who is there? ", "completion": "Nobody."})"
      "\n"
      R"({"messages": [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Ho"}]})"
      "\n",
      64);
  const TextSample row = read_text(*sets.train, 0);
  sum.add(row.tokens);
  sum.add(row.labels);
  const bool known = kCutVersion == kVersionOfSum && sum.value() == kSumOfIds;
  EXPECT_TRUE(known) << "texts are cut into other ids than by version " << kVersionOfSum
                     << " of the rules, so what runs have kept would be wrong: if you meant to "
                        "change the ids, raise kCutVersion (runtime/data/tokens/cut_text.h) and "
                        "write here the new version and the sum 0x"
                     << std::hex << sum.value() << "; else find what changed them";
}

}  // namespace
}  // namespace penstock::test
