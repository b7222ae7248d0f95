// The classes, and which of them is opened for whom, are those of transformers 5.24
// (models/auto/tokenization_auto.py, and the __init__ of each class).
#include "runtime/data/tokenizer/hub/folder_class.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <string_view>

#include "runtime/data/tokenizer/hub/folder_settings.h"
#include "runtime/data/tokenizer/hub/json_source.h"
#include "runtime/data/tokenizer/hub/json_steps.h"
#include "runtime/system/files/json.h"

namespace penstock {
namespace {

using nlohmann::json;

constexpr const char* kSpacePiece = "\xE2\x96\x81";

struct ClassName {
  std::string_view name;
  FolderClass of;
};
constexpr std::array kOurClasses = {ClassName{"GPT2Tokenizer", FolderClass::Gpt2},
                                    ClassName{"GPTNeoXTokenizer", FolderClass::GptNeoX},
                                    ClassName{"LlamaTokenizer", FolderClass::Llama},
                                    ClassName{"Qwen2Tokenizer", FolderClass::Qwen2}};

// These classes of transformers rebuild a tokenizer of byte pairs or pieces in ways that are not
// supported.
constexpr std::array<std::string_view, 46> kOtherClasses = {
    "AlbertTokenizer",      "BarthezTokenizer",    "BartTokenizer",      "BigBirdTokenizer",
    "BlenderbotTokenizer",  "CLIPTokenizer",       "CamembertTokenizer", "CodeGenTokenizer",
    "CodeLlamaTokenizer",   "CohereTokenizer",     "CpmTokenizer",       "DebertaTokenizer",
    "DebertaV2Tokenizer",   "EsmcTokenizer",       "FNetTokenizer",      "GemmaTokenizer",
    "HerbertTokenizer",     "LEDTokenizer",        "LasrTokenizer",      "LayoutLMv3Tokenizer",
    "LayoutXLMTokenizer",   "LongformerTokenizer", "LukeTokenizer",      "MBart50Tokenizer",
    "MBartTokenizer",       "MLukeTokenizer",      "MarkupLMTokenizer",  "MvpTokenizer",
    "NllbTokenizer",        "NougatTokenizer",     "OpenAIGPTTokenizer", "PegasusTokenizer",
    "Qwen3_5Tokenizer",     "ReformerTokenizer",   "RemBertTokenizer",   "RobertaTokenizer",
    "SeamlessM4TTokenizer", "Siglip2Tokenizer",    "T5Tokenizer",        "Tipsv2Tokenizer",
    "UdopTokenizer",        "VideoPrismTokenizer", "WhisperTokenizer",   "XGLMTokenizer",
    "XLMRobertaTokenizer",  "XLNetTokenizer"};

// Says which class the networks of one type have. AsWritten (the file is taken as it stands) holds
// whatever class the folder names; any other class holds only if the folder names none. A network
// of a type that is not listed has the class that its folder names.
struct NetworkClass {
  std::string_view model_type;
  FolderClass of;
};
constexpr auto kWritten = FolderClass::AsWritten;
constexpr std::array kNetworkClasses = {NetworkClass{"gpt2", FolderClass::Gpt2},
                                        NetworkClass{"gpt_neo", FolderClass::Gpt2},
                                        NetworkClass{"gptj", FolderClass::Gpt2},
                                        NetworkClass{"opt", FolderClass::Gpt2},
                                        NetworkClass{"phi", FolderClass::Gpt2},
                                        NetworkClass{"starcoder2", FolderClass::Gpt2},
                                        NetworkClass{"gpt_neox", FolderClass::GptNeoX},
                                        NetworkClass{"olmo", FolderClass::GptNeoX},
                                        NetworkClass{"olmoe", FolderClass::GptNeoX},
                                        NetworkClass{"mamba", FolderClass::GptNeoX},
                                        NetworkClass{"mpt", FolderClass::GptNeoX},
                                        NetworkClass{"rwkv", FolderClass::GptNeoX},
                                        NetworkClass{"qwen2", FolderClass::Qwen2},
                                        NetworkClass{"qwen2_moe", FolderClass::Qwen2},
                                        NetworkClass{"qwen3", FolderClass::Qwen2},
                                        NetworkClass{"qwen3_moe", FolderClass::Qwen2},
                                        NetworkClass{"qwen3_next", FolderClass::Qwen2},
                                        NetworkClass{"mistral", kWritten},
                                        NetworkClass{"mixtral", kWritten},
                                        NetworkClass{"ministral", kWritten},
                                        NetworkClass{"ministral3", kWritten},
                                        NetworkClass{"mistral3", kWritten},
                                        NetworkClass{"granite", kWritten},
                                        NetworkClass{"granitemoe", kWritten},
                                        NetworkClass{"gpt_bigcode", kWritten},
                                        NetworkClass{"glm", kWritten},
                                        NetworkClass{"glm4", kWritten},
                                        NetworkClass{"internlm2", kWritten},
                                        NetworkClass{"internlm3", kWritten},
                                        NetworkClass{"jamba", kWritten},
                                        NetworkClass{"minicpm3", kWritten},
                                        NetworkClass{"nemotron", kWritten},
                                        NetworkClass{"olmo2", kWritten},
                                        NetworkClass{"olmo3", kWritten},
                                        NetworkClass{"phi3", kWritten},
                                        NetworkClass{"phimoe", kWritten},
                                        NetworkClass{"stablelm", kWritten}};

// Returns the class of that name. For a name that is no class of transformers the file is opened as
// it stands, as for the plain classes.
FolderClass class_named(std::string_view kind) {
  const auto ours = std::ranges::find(kOurClasses, kind, &ClassName::name);
  if (ours != kOurClasses.end()) return ours->of;
  const bool other = std::ranges::find(kOtherClasses, kind) != kOtherClasses.end();
  return other ? FolderClass::Other : FolderClass::AsWritten;
}

std::string name_of(FolderClass of, const FolderSettings& settings) {
  const auto ours = std::ranges::find(kOurClasses, of, &ClassName::of);
  return ours == kOurClasses.end() ? settings.kind : std::string(ours->name);
}

// These are the steps of the tokenizers of GPT-2 and Qwen2, as transformers saves them.
constexpr const char* kNfc = R"({"type": "NFC"})";
constexpr const char* kGpt2Cuts = R"({"type": "ByteLevel", "add_prefix_space": false})";
constexpr const char* kQwen2Cuts = R"js({"type": "Sequence", "pretokenizers": [
  {"type": "Split", "behavior": "Isolated", "invert": false, "pattern": {"Regex":
    "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"}},
  {"type": "ByteLevel", "add_prefix_space": false, "use_regex": false}]})js";

// Returns whether the steps `a` and `b` cut texts alike. A space that they put in front makes no
// difference.
bool cut_alike(std::vector<PreTokenizerStep> a, std::vector<PreTokenizerStep> b) {
  if (a.empty() || b.empty()) return false;
  a.back().put = b.back().put = PreTokenizerStep::Put::Never;
  return a == b;
}

// Replaces the steps of the file by the byte-level steps of the folder's class, and returns true.
// If the file cuts texts in another way than the class, this returns false and changes nothing.
bool cut_as_bytes(TokenizerJson& file, const FolderSettings& settings) {
  const bool qwen2 = settings.opened == FolderClass::Qwen2;
  const JsonSource source(file.path);
  const json steps = json::parse(qwen2 ? kQwen2Cuts : kGpt2Cuts);
  bool byte_level = false;
  std::vector<PreTokenizerStep> cuts = read_pre_tokenizer(source, &steps, byte_level);
  const bool pairs = file.model.kind == WordModelData::Kind::BytePairs && file.model.byte_level;
  if (!pairs || !cut_alike(cuts, file.pre_tokenizer)) return false;
  if (settings.add_prefix_space.value_or(false)) cuts.back().put = PreTokenizerStep::Put::Always;
  file.pre_tokenizer = std::move(cuts);
  file.normal.clear();
  if (settings.opened != FolderClass::Gpt2) {
    const json normal = json::parse(kNfc);
    file.normal = read_normal_steps(source, &normal);
  }
  file.decoder = {{.kind = DecoderStep::Kind::ByteLevel}};
  file.model.byte_fallback = file.model.fuse_unknown = file.model.ignore_merges = false;
  file.model.unknown.reset();
  if (settings.opened == FolderClass::GptNeoX) file.begin = file.end = {};
  return true;
}

}  // namespace

FolderClass opened_class(const std::string& kind, const std::string& model_type, bool byte_level) {
  const auto network = std::ranges::find(kNetworkClasses, model_type, &NetworkClass::model_type);
  const bool is_known = network != kNetworkClasses.end();
  if (kind.empty()) return is_known ? network->of : FolderClass::AsWritten;
  if (is_known && network->of == FolderClass::AsWritten) return FolderClass::AsWritten;
  if (model_type == "qwen2") return FolderClass::Qwen2;
  if (kind == "LlamaTokenizer" && byte_level) return FolderClass::AsWritten;
  return class_named(kind);
}

bool is_known_class(const std::string& kind) {
  return class_named(kind) != FolderClass::AsWritten || kind == "PreTrainedTokenizer" ||
         kind == "TokenizersBackend";
}

DefaultTokens default_tokens(FolderClass of) {
  constexpr const char* kEnd = "<|endoftext|>";
  switch (of) {
    case FolderClass::Gpt2:
      return {{"bos_token", kEnd}, {"eos_token", kEnd}, {"unk_token", kEnd}};
    case FolderClass::GptNeoX:
      return {{"bos_token", kEnd},
              {"eos_token", kEnd},
              {"unk_token", kEnd},
              {"pad_token", "<|padding|>"}};
    case FolderClass::Llama:
      return {{"bos_token", "<s>"}, {"eos_token", "</s>"}, {"unk_token", "<unk>"}};
    case FolderClass::Qwen2:
      return {{"eos_token", kEnd}, {"unk_token", kEnd}, {"pad_token", kEnd}};
    case FolderClass::AsWritten:
    case FolderClass::Other:
      break;
  }
  return {};
}

std::string cut_as_class(TokenizerJson& file, const FolderSettings& settings) {
  switch (settings.opened) {
    case FolderClass::AsWritten:
      return {};
    case FolderClass::Llama:
      if (file.model.kind == WordModelData::Kind::BytePairs) cut_as_llama(file, settings);
      return {};
    case FolderClass::Gpt2:
    case FolderClass::GptNeoX:
    case FolderClass::Qwen2:
      if (cut_as_bytes(file, settings)) return {};
      break;
    case FolderClass::Other:
      break;
  }
  return "texts are cut as " + file.path + " says, and transformers 5 has another way for " +
         name_of(settings.opened, settings) +
         ": write \"tokenizer_class\": " + "\"PreTrainedTokenizerFast\" into " + settings.path +
         ", and it does the same";
}

void cut_as_llama(TokenizerJson& file, const FolderSettings& settings) {
  using Kind = DecoderStep::Kind;
  const bool space = settings.add_prefix_space.value_or(true);
  const bool everywhere = settings.legacy.value_or(false);
  file.normal.clear();
  PreTokenizerStep cut;
  cut.space = kSpacePiece;
  if (space) cut.put = everywhere ? PreTokenizerStep::Put::Always : PreTokenizerStep::Put::AtStart;
  file.pre_tokenizer = {cut};
  file.decoder = {{.kind = Kind::Replace, .from = kSpacePiece, .to = " "},
                  {.kind = Kind::ByteFallback},
                  {.kind = Kind::Fuse}};
  if (space) file.decoder.push_back({.kind = Kind::Strip, .from = " ", .first = 1});
  file.model.byte_fallback = true;
  file.model.fuse_unknown = true;
  file.model.unknown.reset();
  file.model.ignore_merges = false;
}

}  // namespace penstock
