// Every reader of untrusted input files.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <filesystem>
#include <fstream>

#include "kernels/error.h"
#include "launch/program/options/run_file.h"
#include "launch/program/planning/files/profile_file.h"
#include "launch/program/planning/profile_table.h"
#include "runtime/data/datasets/images/decoding/archive.h"
#include "runtime/data/datasets/images/decoding/extent.h"
#include "runtime/data/datasets/images/decoding/jpeg.h"
#include "runtime/data/datasets/images/decoding/orientation.h"
#include "runtime/data/datasets/images/decoding/png.h"
#include "runtime/data/datasets/images/image_folder.h"
#include "runtime/data/datasets/tuning/chat_template.h"
#include "runtime/data/tokenizer/pieces.h"
#include "runtime/data/tokenizer/word_tokenizer.h"
#include "runtime/data/tokens/shards/megatron_tokens.h"
#include "runtime/data/tokens/text_file.h"
#include "runtime/data/tokens/token_source.h"
#include "runtime/planning/schedule/text/csv.h"
#include "runtime/records/checkpoint/format/safetensors.h"
#include "runtime/records/checkpoint/manifest.h"
#include "runtime/records/hub/adapters/adapter_folder.h"
#include "runtime/records/hub/config/config_json.h"
#include "target.h"

namespace penstock::fuzz {
namespace {

std::span<const uint8_t> bytes_of(const std::string& text) {
  return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

void read_safetensors(const std::string& bytes, const std::string& path) {
  const SafetensorsFile file(path);
  for (const TensorInfo& tensor : file.tensors()) {
    std::vector<std::byte> data(tensor.size_bytes());
    if (data.size() > bytes.size()) throw std::logic_error("a tensor larger than its file");
    file.read(tensor.name, data);
  }
}

void read_index(const std::string& bytes, const std::string& path) {
  for (const auto& [tensor, file] : parse_index(bytes, path).weight_map) {
    if (file.find('/') != std::string::npos) throw std::logic_error("a path out of the directory");
  }
}

void read_manifest(const std::string& bytes, const std::string& path) {
  for (const auto& [file, digest] : parse_manifest(bytes, path).files) {
    if (file.find('/') != std::string::npos) throw std::logic_error("a path out of the directory");
  }
}

void read_state(const std::string& bytes, const std::string& path) {
  (void)parse_state(bytes, path);
}

void check_mixture(const ModelConfig& model) {
  const bool chooses = model.experts_per_token >= 1 && model.experts_per_token <= model.experts;
  const bool groups = model.expert_groups >= 1 && model.experts % model.expert_groups == 0 &&
                      model.groups_per_token >= 1 && model.groups_per_token <= model.expert_groups;
  const auto& dense = model.dense_layers;
  const bool layers = std::ranges::is_sorted(dense) && std::ssize(dense) < model.layers &&
                      (dense.empty() || (dense.front() >= 0 && dense.back() < model.layers));
  if (!chooses || !groups || !layers || model.expert_width < 0 || model.shared_expert_width < 0) {
    throw std::logic_error("a mixture that cannot be");
  }
}

void read_hub(const std::string& bytes, const std::string& path) {
  const ModelConfig model = parse_hub_config(bytes, path).model;
  if (model.layers < 1 || model.heads % model.kv_heads != 0 || model.head_width < 1) {
    throw std::logic_error("a network that cannot be");
  }
  if (model.experts > 0) check_mixture(model);
}

void read_adapter(const std::string& bytes, const std::string& path) {
  const LoraConfig lora = parse_adapter_config(bytes, path);
  if (lora.rank < 1 || !std::isfinite(lora.alpha) || lora.targets.empty() ||
      !(lora.dropout >= 0.0 && lora.dropout < 1.0)) {
    throw std::logic_error("adapters that cannot be");
  }
}

void read_settings(const std::string& /*bytes*/, const std::string& path) {
  Settings settings;
  read_run_file(path, settings);
  Settings again;
  parse_run_file(write_run_file(settings.config), "written.toml", again);
}

void read_schedule(const std::string& bytes, const std::string& path) {
  const Schedule schedule = parse_csv(bytes, path);
  (void)parse_csv(to_csv(schedule), "written.csv");
}

void read_times(const std::string& /*bytes*/, const std::string& path) {
  (void)profile_table(read_profile(path));
}

void read_images(const std::string& /*bytes*/, const std::string& path) {
  const ImageFolder folder = open_image_folder(path);
  for (const ImageFile& file : folder.files) {
    const std::filesystem::path name = std::filesystem::path(file.name).lexically_normal();
    if (name.is_absolute() || *name.begin() == "..") {  // "..x/1.png" is a name like any other
      throw std::logic_error("a path out of the archive");
    }
  }
}

void read_jpeg(const std::string& bytes, const std::string& path) {
  (void)is_turned(bytes_of(bytes));
  (void)extent_of(bytes_of(bytes));
  for (const int64_t channels : {3, 1}) {
    (void)fitted(decode_jpeg(bytes_of(bytes), channels, 32, 24, path), 32, 24);
  }
}

void read_png(const std::string& bytes, const std::string& path) {
  (void)is_turned(bytes_of(bytes));
  for (const int64_t channels : {3, 1}) {
    (void)fitted(decode_png(bytes_of(bytes), channels, path), 32, 24);
  }
}

void read_mask(const std::string& bytes, const std::string& path) {
  (void)extent_of(bytes_of(bytes));
  (void)fitted_numbers(decode_numbers(bytes_of(bytes), path), 32, 24);
}

void read_tokens(const std::string& /*bytes*/, const std::string& path) {
  const TokenFile file = open_token_file(path);
  std::vector<int32_t> tokens(static_cast<size_t>(std::min<int64_t>(file.tokens->size(), 1000)));
  file.tokens->read(0, tokens);
  file.tokens->read(file.tokens->size() - static_cast<int64_t>(tokens.size()), tokens);
}

// The index is damaged; the tokens beside it are those of the seed.
void read_megatron(const std::string& /*bytes*/, const std::string& path) {
  const std::string data = path + ".bin";
  std::ofstream(data, std::ios::binary) << std::string(120, '\1');
  const auto tokens = open_megatron(path, data);
  std::vector<int32_t> all(static_cast<size_t>(std::min<int64_t>(tokens->size(), 1000)));
  tokens->read(0, all);
}

void read_vocabulary(const std::string& /*bytes*/, const std::string& path) {
  const Pieces pieces(path);
  const std::string text =
      "the quick brown \xef\xac\x81sh\xe3\x80\x80jumps, \xe2\x91\xa0 \xff\x01 ...";
  (void)pieces.decode(pieces.encode(text));
  (void)pieces.unknown_in(text);
}

void read_tokenizer(const std::string& /*bytes*/, const std::string& path) {
  const WordTokenizer pairs(read_tokenizer_json(path));
  const std::string text =
      "It's 1234  caf\xc3\xa9 cafe\xcc\x81, \xf0\x9f\x98\x80 \xff\n\n<|im_end|> <mask> x";
  const std::vector<int32_t> ids = pairs.encode(text);
  for (const int32_t id : ids) {
    if (id < 0 || id >= pairs.size()) throw std::logic_error("an id outside of the vocabulary");
  }
  (void)pairs.decode(ids, true);
}

void read_chat(const std::string& bytes, const std::string& path) {
  const auto chat = make_chat_template(bytes, {"<s>", "</s>", ""}, path);
  try {
    (void)chat->render({{"system", " s "}, {"user", "u"}, {"assistant", "a</think>b"}}, true);
  } catch (const Error& error) {  // what it does with messages has no place in the file
    if (error.kind() != ErrorKind::Input) throw;
  }
}

void read_text(const std::string& /*bytes*/, const std::string& path) {
  size_t bytes = 0;
  for_each_line(path, [&](std::string_view line) { bytes += line.size(); });
  const auto tokens = open_bytes(path);
  if (tokens->size() < static_cast<int64_t>(bytes)) throw std::logic_error("more lines than bytes");
  std::vector<int32_t> last(tokens->size() > 0 ? 1 : 0);
  tokens->read(tokens->size() - static_cast<int64_t>(last.size()), last);
}

const std::vector<std::string> kJsonWords = {"{",
                                             "}",
                                             "[",
                                             "]",
                                             ",",
                                             ":",
                                             "\"",
                                             "null",
                                             "true",
                                             "-1",
                                             "1e999",
                                             "\"\\u0000\"",
                                             "{\"a\":1,\"a\":2}",
                                             "[[[[[[[[[[",
                                             "18446744073709551616"};

// Documents of a page are read as a whole: their errors name the line, or the key.
const std::string kByKey = R"(["']|line \d|not a JSON object|format \d|nested|more values)";

const std::array<FuzzTarget, 19> kTargets = {{
    {"safetensors",
     read_safetensors,
     {"\"shape\":[", "\"dtype\":\"F4\"", "\"data_offsets\":[0,0]", "__metadata__", "{", "}", "[",
      "-1", "9223372036854775808", "18446744073709551615"},
     "",
     repair_safetensors},
    {"index", read_index, kJsonWords, "is missing"},
    {"manifest", read_manifest, kJsonWords, kByKey},
    {"state", read_state, kJsonWords, kByKey},
    {"hub_config",
     read_hub,
     {"null",
      "true",
      "-1",
      "0",
      "1e999",
      "\"llama\"",
      "\"qwen3\"",
      "\"rope_scaling\":{}",
      "\"layer_types\":[]",
      "18446744073709551616",
      "[[[[[[[[[[",
      "\"granite\"",
      "\"smollm3\"",
      "\"phi3\"",
      "\"no_rope_layers\":[0]",
      "\"partial_rotary_factor\":0.5",
      "\"mixtral\"",
      "\"granitemoe\"",
      "\"num_experts\":3",
      "\"mlp_only_layers\":[1]",
      "\"n_group\":2",
      "\"first_k_dense_replace\":2",
      "\"n_shared_experts\":9223372036854775807"},
     kByKey},
    {"adapter_config",
     read_adapter,
     {"null", "true", "-1", "0", "1e999", "\"all-linear\"", "\"c_attn\"", "\".\"",
      "\"use_rslora\":true", "\"target_parameters\":[\"down_proj\"]", "18446744073709551616",
      "[[[[[[[[[["},
     kByKey},
    {"run_file",
     read_settings,
     {"[", "]", "{", "}", "'''", "\"\"\"", ".", " = ", "\n[model]\n", "[[model.layers]]", "inf",
      "nan", "0x7fffffffffffffff", "1979-05-27T07:32:00Z", "-9223372036854775808"}},
    {"schedule_csv",
     read_schedule,
     {"F0.0", "B", "I", "W", ".", ",", "\n", "R0.0", "16383", "-1"},
     "has no|holds no|line"},
    {"profile", read_times, kJsonWords, kByKey},
    {"tar",
     read_images,
     {"..", "/", "./", "ustar", "GNU.sparse.size=9999999999999\n", "%s"},
     "has no images|has one class|has class folders|is in no class|there twice",
     repair_tar},
    {"jpeg",
     read_jpeg,
     {"\xff\xd8", "\xff\xd9", "\xff\xda", "\xff\xc2", "\xff\xc4", "\xff\xdb", "\xff\xee", "Adobe",
      "\xff\xff\xff"}},
    {"png",
     read_png,
     {"IHDR", "IDAT", "IEND", "PLTE", "tRNS", "iCCP", "gAMA", "zTXt"},
     "",
     repair_png},
    {"mask", read_mask, {"IHDR", "IDAT", "IEND", "PLTE", "tRNS"}, "", repair_png},
    {"tokens",
     read_tokens,
     {"PSTOKENS", "\x93NUMPY", "'descr': '<u2'", "'shape': (-1,)", "'shape': (3,)", "(", ",)",
      "4611686018427387905", "18446744073709551616", "\x88\xd8\x34\x01", "\xa1\xd9\x34\x01"}},
    {"megatron",
     read_megatron,
     {std::string("MMIDIDX\0\0", 9), std::string("\1\0\0\0\0\0\0\0", 8),
      std::string("\x78\0\0\0\0\0\0\0", 8), "\xff\xff\xff\x7f"},
     R"(\.bin, byte \d+)"},
    {"vocabulary",
     read_vocabulary,
     {"<unk>", "</s>", "\xff\xff\xff\xff\x0f", "nmt_nfkc"},
     "all of its|has no piece"},
    {"tokenizer",
     read_tokenizer,
     {"\"type\":\"Split\"", "\"type\":\"ByteLevel\"", "\"behavior\":\"Removed\"", "(a*)*b",
      "\\\\p{L}", "{65535}", "(?=", "\"normalized\":true", "null", "16777215", "[", "]", "{", "}"},
     R"(["']|byte \d|merge \d|id|empty|is not supported|no object|not a JSON object|more values)"},
    {"chat",
     read_chat,
     {"{{",
      "}}",
      "{%-",
      "-%}",
      "{#",
      "#}",
      " for m in messages ",
      " endfor ",
      " if ",
      " endif ",
      "[::-1]",
      "[1:]",
      "loop.index0",
      "namespace(a=1)",
      "| trim",
      ".split('a')",
      "(((((",
      "{% set ns.a = ns.a ~ ns.a %}",
      " in range(99999) ",
      " * 99999",
      "| replace('', 'aa')",
      "{% macro f() %}{{ f() }}{% endmacro %}",
      "| list",
      "| tojson(indent=9999)",
      ".format(a)",
      "'%9999s' % ",
      "| map('string') | sort",
      "{% set x %}",
      "{% raw %}",
      "recursive"},
     "chat template"},
    {"text",
     read_text,
     {"\n", "\r\n", "\x1f\x8b\x08", "\x28\xb5\x2f\xfd", "BZh9", std::string("\xfd") + "7zXZ"}},
}};

}  // namespace

std::span<const FuzzTarget> fuzz_targets() {
  return kTargets;
}

}  // namespace penstock::fuzz
