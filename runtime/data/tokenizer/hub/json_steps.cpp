#include "runtime/data/tokenizer/hub/json_steps.h"

#include <map>
#include <optional>

#include "runtime/system/files/json.h"

namespace penstock {
namespace {

using nlohmann::json;

// The byte-level step cuts by this expression, unless the file says that the step does not cut.
constexpr const char* kByteLevelExpression =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";
// This expression for PCRE2 matches punctuation: that of ASCII and that of Unicode 8, whose tables
// the `tokenizers` library has. It excludes characters that became punctuation later, and includes
// two that were punctuation in Unicode 8 only.
constexpr const char* kPunctuation =
    R"((?![\x{61D}\x{9FD}\x{A76}\x{C77}\x{C84}\x{1B7D}\x{1B7E}\x{2E43}-\x{2E5D}\x{10EAD})"
    R"(\x{10F55}-\x{10F59}\x{10F86}-\x{10F89}\x{1144B}-\x{1144F}\x{1145A}-\x{1145D})"
    R"(\x{11660}-\x{1166C}\x{116B9}\x{1183B}\x{11944}-\x{11946}\x{119E2}\x{11A3F}-\x{11A46})"
    R"(\x{11A9A}-\x{11AA2}\x{11C41}-\x{11C45}\x{11C70}\x{11C71}\x{11EF7}\x{11EF8}\x{11FFF})"
    R"(\x{12FF1}\x{12FF2}\x{16E97}-\x{16E9A}\x{16FE2}\x{1E95E}\x{1E95F}]))"
    R"([\p{P}$+<=>^`|~\x{166D}\x{111C9}])";
constexpr const char* kDigit = R"(\p{N})";
constexpr const char* kSpace =
    R"([\x{09}-\x{0D}\x{20}\x{85}\x{A0}\x{1680}\x{2000}-\x{200A}\x{2028}\x{2029}\x{202F}\x{205F}\x{3000}])";

Pattern ours(std::string text) {
  return {std::move(text), Pattern::Kind::Ours};
}

Pattern pattern_of(const JsonSource& source, const json& step, const std::string& of) {
  const json& pattern = json_object(step, "pattern", source.path());
  const bool text = pattern.contains("String");
  if (!text && !pattern.contains("Regex")) {
    source.refuse("a " + of + " by another pattern than a \"Regex\" or a \"String\"");
  }
  Pattern read{json_text(pattern, text ? "String" : "Regex", source.path()),
               text ? Pattern::Kind::Text : Pattern::Kind::Theirs};
  if (read.text.empty()) source.damaged("a " + of + " has an empty \"pattern\"");
  return read;
}

PreTokenizerStep::Behavior behavior_of(const JsonSource& source, const json& step,
                                       const std::string& otherwise) {
  using Behavior = PreTokenizerStep::Behavior;
  static const std::map<std::string, Behavior> kNames = {
      {"Isolated", Behavior::Isolated},
      {"Removed", Behavior::Removed},
      {"MergedWithPrevious", Behavior::MergedWithPrevious},
      {"MergedWithNext", Behavior::MergedWithNext},
      {"Contiguous", Behavior::Contiguous}};
  const std::string name = source.text(step, "behavior", otherwise);
  const auto found = kNames.find(name);
  if (found == kNames.end()) source.refuse("the behavior " + quoted(name));
  return found->second;
}

NormalStep normal_step(const JsonSource& source, const json& step) {
  using Kind = NormalStep::Kind;
  static const std::map<std::string, NormalStep> kPlain = {
      {"NFC", {.kind = Kind::Form, .form = NormalForm::C}},
      {"NFD", {.kind = Kind::Form, .form = NormalForm::D}},
      {"NFKC", {.kind = Kind::Form, .form = NormalForm::KC}},
      {"NFKD", {.kind = Kind::Form, .form = NormalForm::KD}},
      {"Lowercase", {.kind = Kind::Lowercase}},
      {"StripAccents", {.kind = Kind::StripAccents}},
      {"ByteLevel", {.kind = Kind::Bytes}}};
  const std::string type = source.type_of(step);
  if (const auto plain = kPlain.find(type); plain != kPlain.end()) return plain->second;
  if (type == "Strip") {
    return {.kind = Kind::Strip,
            .left = source.flag(step, "strip_left", true),
            .right = source.flag(step, "strip_right", true)};
  }
  if (type == "Replace") {
    return {.kind = Kind::Replace,
            .pattern = pattern_of(source, step, type),
            .text = json_text(step, "content", source.path())};
  }
  if (type == "Prepend") {
    return {.kind = Kind::Prepend, .text = json_text(step, "prepend", source.path())};
  }
  source.refuse("the normalizer " + quoted(type));
}

// Reads a Metaspace step. Older files have add_prefix_space instead of prepend_scheme. If the file
// does not say whether texts are split, they are.
PreTokenizerStep metaspace(const JsonSource& source, const json& step) {
  using Put = PreTokenizerStep::Put;
  PreTokenizerStep cut;
  cut.space = source.text(step, "replacement", "\xE2\x96\x81");
  const std::string otherwise = source.flag(step, "add_prefix_space", true) ? "always" : "never";
  const std::string scheme = source.text(step, "prepend_scheme", otherwise);
  if (scheme == "always") {
    cut.put = Put::Always;
  } else if (scheme == "first") {
    cut.put = Put::AtStart;
  } else if (scheme != "never") {
    source.refuse("the prepend_scheme " + quoted(scheme));
  }
  if (cut.space.empty()) source.damaged("a Metaspace has an empty \"replacement\"");
  if (source.flag(step, "split", true)) {
    cut.pattern.text = cut.space;
    cut.pattern.kind = Pattern::Kind::Text;
    cut.behavior = PreTokenizerStep::Behavior::MergedWithNext;
  }
  return cut;
}

PreTokenizerStep byte_level(const JsonSource& source, const json& step) {
  PreTokenizerStep cut;
  if (source.flag(step, "add_prefix_space", true)) cut.put = PreTokenizerStep::Put::Always;
  if (source.flag(step, "use_regex", true)) cut.pattern.text = kByteLevelExpression;
  return cut;
}

PreTokenizerStep cut_step(const JsonSource& source, const json& step) {
  using Behavior = PreTokenizerStep::Behavior;
  const std::string type = source.type_of(step);
  if (type == "Split") {
    return {.pattern = pattern_of(source, step, type),
            .behavior = behavior_of(source, step, ""),
            .invert = source.flag(step, "invert", false)};
  }
  if (type == "ByteLevel") return byte_level(source, step);
  if (type == "Metaspace") return metaspace(source, step);
  if (type == "Digits") {
    const bool each = source.flag(step, "individual_digits", false);
    return {.pattern = ours(kDigit), .behavior = each ? Behavior::Isolated : Behavior::Contiguous};
  }
  if (type == "Punctuation") {
    return {.pattern = ours(kPunctuation), .behavior = behavior_of(source, step, "Isolated")};
  }
  if (type == "WhitespaceSplit") return {.pattern = ours(kSpace), .behavior = Behavior::Removed};
  if (type == "Whitespace") {
    const std::string word = kWordCharacter;
    const std::string neither =
        "[^" + std::string(kSpace).substr(1, std::string(kSpace).size() - 2) + word.substr(1);
    return {.pattern = ours(word + "+|" + neither + "+"),
            .behavior = Behavior::Removed,
            .invert = true};
  }
  if (type == "CharDelimiterSplit") {
    return {.pattern = {json_text(step, "delimiter", source.path()), Pattern::Kind::Text},
            .behavior = Behavior::Removed};
  }
  source.refuse("the pre-tokenizer " + quoted(type));
}

DecoderStep join_step(const JsonSource& source, const json& step) {
  using Kind = DecoderStep::Kind;
  const std::string type = source.type_of(step);
  if (type == "ByteLevel") return {.kind = Kind::ByteLevel};
  if (type == "ByteFallback") return {.kind = Kind::ByteFallback};
  if (type == "Fuse") return {.kind = Kind::Fuse};
  if (type == "Replace") {
    const Pattern pattern = pattern_of(source, step, type);
    if (pattern.kind != Pattern::Kind::Text) source.refuse("a decoder Replace by a \"Regex\"");
    return {.kind = Kind::Replace,
            .from = pattern.text,
            .to = json_text(step, "content", source.path())};
  }
  if (type == "Strip") {
    DecoderStep strip{.kind = Kind::Strip, .from = json_text(step, "content", source.path())};
    if (strip.from.empty()) source.damaged("a decoder Strip has an empty \"content\"");
    strip.first = source.id(json(json_count(step, "start", source.path())));
    strip.last = source.id(json(json_count(step, "stop", source.path())));
    return strip;
  }
  if (type == "Metaspace") {
    const PreTokenizerStep cut = metaspace(source, step);
    return {.kind = Kind::Metaspace,
            .from = cut.space,
            .first = cut.put == PreTokenizerStep::Put::Never ? 0 : 1};
  }
  source.refuse("the decoder " + quoted(type));
}

}  // namespace

std::vector<NormalStep> read_normal_steps(const JsonSource& source, const json* normalizer) {
  std::vector<NormalStep> steps;
  if (normalizer == nullptr) return steps;
  for (const json* step : source.in_sequence(*normalizer, "normalizers")) {
    steps.push_back(normal_step(source, *step));
  }
  return steps;
}

std::vector<PreTokenizerStep> read_pre_tokenizer(const JsonSource& source,
                                                 const json* pre_tokenizer, bool& byte_level) {
  std::vector<PreTokenizerStep> steps;
  byte_level = false;
  if (pre_tokenizer == nullptr) return steps;
  for (const json* step : source.in_sequence(*pre_tokenizer, "pretokenizers")) {
    const std::string type = source.type_of(*step);
    if (byte_level) source.refuse("the pre-tokenizer " + quoted(type) + " behind ByteLevel");
    steps.push_back(cut_step(source, *step));
    byte_level = type == "ByteLevel";
  }
  return steps;
}

std::vector<DecoderStep> read_decoder(const JsonSource& source, const json* decoder) {
  if (decoder == nullptr) return {{.kind = DecoderStep::Kind::Spaces}};
  std::vector<DecoderStep> steps;
  for (const json* step : source.in_sequence(*decoder, "decoders")) {
    steps.push_back(join_step(source, *step));
  }
  return steps;
}

}  // namespace penstock
