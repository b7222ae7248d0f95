// The format is that of the `tokenizers` library (tokenizers/src/tokenizer/serialization.rs).
#include "runtime/data/tokenizer/hub/tokenizer_json.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "runtime/data/tokenizer/hub/json_source.h"
#include "runtime/data/tokenizer/hub/json_steps.h"
#include "runtime/system/files/json.h"

namespace penstock {
namespace {

using nlohmann::json;

constexpr int64_t kMostTokenizerValues = 8'000'000;  // 250,000 merges are a million values

class TokenizerReader {
 public:
  TokenizerReader(const json& file, const std::string& path) : file_(file), source_(path) {
    read_.path = path;
  }

  TokenizerJson run() {
    version();
    if (JsonSource::part(file_, "added_tokens") != nullptr) added();
    read_.normal = read_normal_steps(source_, JsonSource::part(file_, "normalizer"));
    read_.pre_tokenizer = read_pre_tokenizer(source_, JsonSource::part(file_, "pre_tokenizer"),
                                             read_.model.byte_level);
    read_.decoder = read_decoder(source_, JsonSource::part(file_, "decoder"));
    model();
    if (const json* post = JsonSource::part(file_, "post_processor")) {
      for (const json* step : source_.in_sequence(*post, "processors")) post_processor(*step);
    }
    return std::move(read_);
  }

 private:
  // The `tokenizers` library takes a file without a version, too.
  void version() {
    if (!file_.contains("version") || file_["version"] == "1.0") return;
    source_.refuse("the version " + file_["version"].dump() + ", other than \"1.0\",");
  }

  void added() {
    for (const json& token : source_.list(file_, "added_tokens")) {
      if (!token.is_object() || !token.contains("id")) source_.damaged("an added token has no id");
      AddedToken one;
      one.id = source_.id(token["id"]);
      one.content = json_text(token, "content", read_.path);
      one.special = source_.flag(token, "special", false);
      one.left = source_.flag(token, "lstrip", false);
      one.right = source_.flag(token, "rstrip", false);
      one.single_word = source_.flag(token, "single_word", false);
      one.normalized = source_.flag(token, "normalized", !one.special);
      if (one.content.empty()) source_.damaged("an added token is empty");
      read_.added.push_back(std::move(one));
    }
  }

  void model() {
    const json& model = json_object(file_, "model", read_.path);
    // Older files do not name the type of their model. Then the model has pieces if "vocab" is a
    // list, else byte pairs.
    const bool pieces = model.contains("vocab") && model["vocab"].is_array();
    const std::string type = source_.text(model, "type", pieces ? "Unigram" : "BPE");
    read_.model.byte_fallback = source_.flag(model, "byte_fallback", false);
    if (type == "BPE") {
      byte_pairs(model);
    } else if (type == "Unigram") {
      unigram(model);
    } else {
      source_.refuse("the model " + quoted(type));
    }
  }

  void byte_pairs(const json& model) {
    for (const char* key : {"dropout", "continuing_subword_prefix", "end_of_word_suffix"}) {
      source_.refuse_set(model, key, "model.");
    }
    read_.model.ignore_merges = source_.flag(model, "ignore_merges", false);
    read_.model.fuse_unknown = source_.flag(model, "fuse_unk", false);
    const std::string unknown = source_.text(model, "unk_token", "");
    for (const auto& [word, id] : json_object(model, "vocab", read_.path).items()) {
      read_.model.vocabulary.emplace_back(word, source_.id(id));
      if (word == unknown) read_.model.unknown = read_.model.vocabulary.back().second;
    }
    // A byte-level vocabulary can write any text, so nothing is unknown to it. Its unk_token need
    // not be one of its words.
    if (!unknown.empty() && !read_.model.unknown && !read_.model.byte_level) {
      source_.damaged("its vocabulary has no " + quoted(unknown) + ", which its unk_token is");
    }
    for (const json& merge : source_.list(model, "merges")) {
      read_.model.merges.push_back(pair_in(merge));
    }
  }

  void unigram(const json& model) {
    if (read_.model.byte_level) source_.refuse("a Unigram model behind ByteLevel");
    read_.model.kind = WordModelData::Kind::Unigram;
    const json& pieces = source_.list(model, "vocab");
    for (const json& piece : pieces) {
      if (!piece.is_array() || piece.size() != 2 || !piece[0].is_string() ||
          !piece[1].is_number()) {
        source_.damaged("\"vocab\": piece " + std::to_string(read_.model.scores.size()) +
                        " is no pair of a text and a number");
      }
      const auto id = static_cast<int32_t>(read_.model.scores.size());
      read_.model.vocabulary.emplace_back(piece[0].get<std::string>(), id);
      read_.model.scores.push_back(piece[1].get<double>());
    }
    if (std::ssize(read_.model.scores) >= kMostTokenIds)
      source_.damaged("\"vocab\": 2^24 pieces, or more");
    if (const json* unknown = JsonSource::part(model, "unk_id")) {
      read_.model.unknown = source_.id(*unknown);
      if (*read_.model.unknown >= std::ssize(read_.model.scores)) {
        source_.damaged("\"unk_id\" is no piece");
      }
    }
  }

  // Returns the two words of a merge. A merge is written as "a b" or as ["a", "b"].
  std::pair<std::string, std::string> pair_in(const json& merge) const {
    if (merge.is_string()) {
      const auto& both = merge.get_ref<const std::string&>();
      const size_t space = both.find(' ');
      if (space != std::string::npos && both.find(' ', space + 1) == std::string::npos) {
        return {both.substr(0, space), both.substr(space + 1)};
      }
    } else if (merge.is_array() && merge.size() == 2 && merge[0].is_string() &&
               merge[1].is_string()) {
      return {merge[0].get<std::string>(), merge[1].get<std::string>()};
    }
    source_.damaged("\"merges\": merge " + std::to_string(read_.model.merges.size()) +
                    " is no pair of words");
  }

  // Reads a post-processor. Only the tokens that it puts around a single text are used here. All
  // else that it does concerns offsets and pairs of texts.
  void post_processor(const json& post) {
    const std::string type = source_.type_of(post);
    if (type == "ByteLevel") return;
    const bool pair = type == "RobertaProcessing" || type == "BertProcessing";
    if (!pair && type != "TemplateProcessing") {
      source_.refuse("the post-processor " + quoted(type));
    }
    if (had_ends_) source_.refuse("a second " + type);
    had_ends_ = true;
    if (!pair) return around(post);
    read_.begin.push_back(token_in(post, "cls"));
    read_.end.push_back(token_in(post, "sep"));
  }

  // Returns the id of a token that is written together with its id, as in ["<s>", 0].
  int32_t token_in(const json& post, const char* key) const {
    const json& token = source_.list(post, key);
    if (token.size() != 2) source_.damaged("\"" + std::string(key) + "\" is no token with its id");
    return source_.id(token[1]);
  }

  void around(const json& post) {
    bool text_seen = false;
    for (const json& piece : source_.list(post, "single")) {
      if (!piece.is_object()) source_.damaged("a piece of the template is no object");
      if (piece.contains("Sequence")) {
        if (text_seen) source_.refuse("a template that repeats its text");
        text_seen = true;
        continue;
      }
      const std::string name =
          json_text(json_object(piece, "SpecialToken", read_.path), "id", read_.path);
      const json& specials = json_object(post, "special_tokens", read_.path);
      const json& token = json_object(specials, name.c_str(), read_.path);
      for (const json& id : source_.list(token, "ids")) {
        (text_seen ? read_.end : read_.begin).push_back(source_.id(id));
      }
    }
    if (!text_seen) source_.refuse("a template without the text");
  }

  const json& file_;
  JsonSource source_;
  TokenizerJson read_;
  bool had_ends_ = false;
};

json tokenizer_document(const std::string& path) {
  return parse_json(read_text(path, kMostTokenizerBytes, FileOwner::User), path,
                    kMostTokenizerValues);
}

}  // namespace

bool has_precompiled_rules(const std::string& path) {
  const json document = tokenizer_document(path);
  const json* normalizer = JsonSource::part(document, "normalizer");
  if (normalizer == nullptr) return false;
  const JsonSource source(path);
  return std::ranges::any_of(source.in_sequence(*normalizer, "normalizers"), [&](const json* step) {
    return source.type_of(*step) == "Precompiled";
  });
}

TokenizerJson read_tokenizer_json(const std::string& path) {
  const json document = tokenizer_document(path);
  return TokenizerReader(document, path).run();
}

}  // namespace penstock
