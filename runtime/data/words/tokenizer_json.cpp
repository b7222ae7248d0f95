// The format is that of the `tokenizers` library (tokenizers/src/tokenizer/serialization.rs).
#include "runtime/data/words/tokenizer_json.h"

#include <nlohmann/json.hpp>

#include "kernels/error.h"
#include "runtime/files/json.h"

namespace penstock {
namespace {

using nlohmann::json;

constexpr int64_t kMostTokenizerBytes = int64_t{128} << 20;
constexpr int64_t kMostTokenizerValues = 8'000'000;  // a quarter of a million merges are one

// What the byte-level step cuts by, unless the file says that it does not.
constexpr const char* kByteLevelExpression =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";

class TokenizerReader {
 public:
  TokenizerReader(const json& file, const std::string& path) : file_(file) { read_.path = path; }

  TokenizerJson run() {
    refuse_set(file_, "truncation", "");
    refuse_set(file_, "padding", "");
    added();
    normalizer();
    pre_tokenizer();
    decoder();
    model();
    if (const json* post = part(file_, "post_processor")) post_processor(*post);
    return std::move(read_);
  }

 private:
  [[noreturn]] void refuse(const std::string& what) const {
    fail_input(read_.path + ": " + what + " is not supported");
  }
  [[noreturn]] void damaged(const std::string& what) const { fail_data(read_.path + ": " + what); }

  // A member that is there and not null.
  static const json* part(const json& parent, const char* key) {
    const auto found = parent.find(key);
    return found == parent.end() || found->is_null() ? nullptr : &*found;
  }
  std::string type_of(const json& value) const {
    if (!value.is_object()) damaged("a part of it is no object");
    return json_text(value, "type", read_.path);
  }
  bool flag(const json& parent, const char* key, bool otherwise) const {
    const json* value = part(parent, key);
    if (value == nullptr) return otherwise;
    if (!value->is_boolean()) damaged("\"" + std::string(key) + "\" is neither true nor false");
    return value->get<bool>();
  }
  // Refuses a member that is set to anything that would change ids.
  void refuse_set(const json& parent, const char* key, const std::string& of) const {
    const json* value = part(parent, key);
    const bool off = value == nullptr || *value == json("") || *value == json(false) ||
                     (value->is_number() && *value == json(0.0));
    if (!off) refuse("\"" + of + key + "\"");
  }
  int32_t id_in(const json& value) const {
    if (!value.is_number_unsigned() ||
        value.get<uint64_t>() >= static_cast<uint64_t>(kMostTokenIds)) {
      damaged("an id is not a whole number below 2^24");
    }
    return value.get<int32_t>();
  }
  static const json& list_in(const json& parent, const char* key) {
    static const json kEmpty = json::array();
    const json* value = part(parent, key);
    return value == nullptr ? kEmpty : *value;
  }

  void added() {
    const json& tokens = list_in(file_, "added_tokens");
    if (!tokens.is_array()) damaged("\"added_tokens\" is not a list");
    for (const json& token : tokens) {
      if (!token.is_object() || !token.contains("id")) damaged("an added token has no id");
      AddedToken one;
      one.id = id_in(token["id"]);
      one.content = json_text(token, "content", read_.path);
      one.special = flag(token, "special", false);
      one.left = flag(token, "lstrip", false);
      one.right = flag(token, "rstrip", false);
      one.single_word = flag(token, "single_word", false);
      one.normalized = flag(token, "normalized", !one.special);
      if (one.content.empty()) damaged("an added token is empty");
      read_.added.push_back(std::move(one));
    }
  }

  void normalizer() {
    const json* normalizer = part(file_, "normalizer");
    if (normalizer == nullptr) return;
    const std::string type = type_of(*normalizer);
    if (type == "NFC") {
      read_.compose = true;
    } else if (type != "Sequence" || !list_in(*normalizer, "normalizers").empty()) {
      refuse("the normalizer " + quoted(type));
    }
  }

  void pre_tokenizer() {
    if (const json* first = part(file_, "pre_tokenizer")) cut_step(*first);
    if (!byte_level_) refuse("a pre-tokenizer that does not end with ByteLevel");
  }

  void cut_step(const json& step) {
    const std::string type = type_of(step);
    if (byte_level_) refuse("the pre-tokenizer " + quoted(type) + " behind ByteLevel");
    if (type == "Sequence") {
      const json& steps = list_in(step, "pretokenizers");
      if (!steps.is_array()) damaged("\"pretokenizers\" is not a list");
      for (const json& inner : steps) {
        if (inner.is_object() && inner.value("type", json()) == json("Sequence")) {
          refuse("a pre-tokenizer Sequence in a Sequence");
        }
        cut_step(inner);
      }
    } else if (type == "Split") {
      read_.cuts.push_back(split(step));
    } else if (type == "ByteLevel") {
      byte_level_ = true;
      CutStep cut;
      cut.space_before = flag(step, "add_prefix_space", true);
      if (flag(step, "use_regex", true)) cut.expression = kByteLevelExpression;
      read_.cuts.push_back(std::move(cut));
    } else {
      refuse("the pre-tokenizer " + quoted(type));
    }
  }

  CutStep split(const json& step) const {
    CutStep cut;
    const json& pattern = json_object(step, "pattern", read_.path);
    if (!pattern.contains("Regex")) refuse("a Split by another pattern than a \"Regex\"");
    cut.expression = json_text(pattern, "Regex", read_.path);
    if (cut.expression.empty()) damaged("a Split has an empty expression");
    const std::string behavior = json_text(step, "behavior", read_.path);
    const bool invert = flag(step, "invert", false);
    if (behavior == "Removed") {
      cut.keep = invert ? CutStep::Keep::Matches : CutStep::Keep::Between;
    } else if (behavior != "Isolated") {
      refuse("a Split with the behavior " + quoted(behavior));
    }
    return cut;
  }

  void decoder() const {
    const json* decoder = part(file_, "decoder");
    if (decoder == nullptr) return;
    const std::string type = type_of(*decoder);
    if (type != "ByteLevel") refuse("the decoder " + quoted(type));
  }

  void model() {
    const json& model = json_object(file_, "model", read_.path);
    const std::string type = part(model, "type") != nullptr ? type_of(model) : "BPE";
    if (type != "BPE") refuse("the model " + quoted(type));
    for (const char* key : {"dropout", "continuing_subword_prefix", "end_of_word_suffix",
                            "byte_fallback", "unk_token"}) {
      // With all bytes in the vocabulary nothing is unknown, which the reader of these data checks.
      if (std::string_view(key) != "unk_token") refuse_set(model, key, "model.");
    }
    read_.ignore_merges = flag(model, "ignore_merges", false);
    for (const auto& [word, id] : json_object(model, "vocab", read_.path).items()) {
      read_.vocabulary.emplace_back(word, id_in(id));
    }
    const json& merges = list_in(model, "merges");
    if (!merges.is_array()) damaged("\"merges\" is not a list");
    for (const json& merge : merges) read_.merges.push_back(pair_in(merge));
  }

  // "a b", or ["a", "b"].
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
    damaged("merge " + std::to_string(read_.merges.size()) + " is no pair of words");
  }

  void post_processor(const json& post) {
    const std::string type = type_of(post);
    if (type == "ByteLevel") return;  // it moves offsets
    if (type == "TemplateProcessing") return around(post);
    if (type != "Sequence") refuse("the post-processor " + quoted(type));
    const json& steps = list_in(post, "processors");
    if (!steps.is_array()) damaged("\"processors\" is not a list");
    for (const json& step : steps) {
      const std::string inner = type_of(step);
      if (inner == "Sequence") refuse("a post-processor Sequence in a Sequence");
      post_processor(step);
    }
  }

  // What a single text is put between.
  void around(const json& post) {
    const json& single = list_in(post, "single");
    if (!single.is_array()) refuse("a template that is no list");
    if (had_template_) refuse("a second TemplateProcessing");
    had_template_ = true;
    bool text_seen = false;
    for (const json& piece : single) {
      if (!piece.is_object()) damaged("a piece of the template is no object");
      if (piece.contains("Sequence")) {
        if (text_seen) refuse("a template that repeats its text");
        text_seen = true;
        continue;
      }
      const std::string name =
          json_text(json_object(piece, "SpecialToken", read_.path), "id", read_.path);
      const json& specials = json_object(post, "special_tokens", read_.path);
      const json& ids = list_in(json_object(specials, name.c_str(), read_.path), "ids");
      if (!ids.is_array()) damaged("the ids of " + quoted(name) + " are not a list");
      for (const json& id : ids) (text_seen ? read_.end : read_.begin).push_back(id_in(id));
    }
    if (!text_seen) refuse("a template without the text");
  }

  const json& file_;
  TokenizerJson read_;
  bool byte_level_ = false, had_template_ = false;
};

json tokenizer_document(const std::string& path) {
  return parse_json(read_text(path, kMostTokenizerBytes, FileOwner::User), path,
                    kMostTokenizerValues);
}

}  // namespace

bool is_byte_level(const std::string& path) {
  const json document = tokenizer_document(path);
  const auto model = document.find("model");
  if (model == document.end() || !model->is_object()) return true;  // reading it says what is wrong
  const auto fallback = model->find("byte_fallback");
  return model->value("type", json("BPE")) != json("Unigram") &&
         (fallback == model->end() || *fallback != json(true));
}

TokenizerJson read_tokenizer_json(const std::string& path) {
  const json document = tokenizer_document(path);
  return TokenizerReader(document, path).run();
}

}  // namespace penstock
