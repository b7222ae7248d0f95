#include "runtime/data/tokenizer/hub/folder_settings.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "kernels/error.h"
#include "kernels/parse_number.h"
#include "runtime/system/files/json.h"
#include "runtime/system/files/stand_in.h"

namespace penstock {
namespace {

using nlohmann::json;

constexpr int64_t kMostSettingsBytes = int64_t{8} << 20;

// Returns the token that an object such as {"content": "<s>", "lstrip": false, ...} describes. The
// id of the token is not set.
AddedToken token_of(const json& token, const std::string& path) {
  AddedToken one;
  one.content = json_text(token, "content", path);
  if (one.content.empty()) fail_data(path + ": an added token is empty");
  const auto says = [&](const char* key, bool otherwise) {
    return token.value(key, json(otherwise)) == json(true);
  };
  one.special = says("special", false);
  one.left = says("lstrip", false);
  one.right = says("rstrip", false);
  one.single_word = says("single_word", false);
  one.normalized = says("normalized", !one.special);
  return one;
}

// Returns the special token that `token` names: an object {"content": ...} or a text alone. Returns
// nothing if it is neither.
std::optional<AddedToken> named_token(const json& token, const std::string& path) {
  const bool object = token.is_object() && token.contains("content");
  if (!object && (!token.is_string() || token.get_ref<const std::string&>().empty())) {
    return std::nullopt;
  }
  AddedToken one = object ? token_of(token, path) : AddedToken{.content = token};
  one.special = true;
  return one;
}

constexpr std::array kNames = {"bos_token", "eos_token", "unk_token", "sep_token",
                               "pad_token", "cls_token", "mask_token"};

void take_all(const json& tokens, const std::string& path, std::vector<AddedToken>& of) {
  for (const json& token : tokens) {
    if (const std::optional<AddedToken> one = named_token(token, path)) of.push_back(*one);
  }
}

// Returns the member that keeps the text of the token with this key, or null if there is no such
// member.
std::string* edge_of(FolderSettings& read, std::string_view key) {
  if (key == "bos_token") return &read.begin;
  if (key == "eos_token") return &read.end;
  return key == "pad_token" ? &read.padding : nullptr;
}

void take_named(const json& settings, FolderSettings& read) {
  for (const char* name : kNames) {
    const std::optional<AddedToken> one = named_token(settings.value(name, json()), read.path);
    if (!one) continue;
    read.named.push_back(*one);
    if (std::string* edge = edge_of(read, name)) *edge = one->content;
  }
  for (const auto& [key, token] : settings.items()) {
    const bool own = key.ends_with("_token") && std::ranges::find(kNames, key) == kNames.end();
    if (own) take_all(json::array({token}), read.path, read.own);
  }
  const json extra = settings.value("extra_special_tokens", json());
  take_all(settings.value("model_specific_special_tokens", json()), read.path, read.own);
  if (extra.is_object()) take_all(extra, read.path, read.own);
  if (extra.is_array()) take_all(extra, read.path, read.listed);
}

// Takes the tokens that the class assumes. If the settings have a key for a token, that key is left
// alone, even if it is null: null says that there is no such token.
void take_assumed(const json& settings, FolderSettings& read) {
  for (const auto& [key, text] : default_tokens(read.opened)) {
    if (settings.contains(key)) continue;
    read.assumed.emplace_back(key, AddedToken{.content = text, .special = true});
    if (std::string* edge = edge_of(read, key)) *edge = text;
  }
}

// Copies the list of extra tokens from its older name to its newer name, unless there is a list of
// the newer name as well.
void rename_list(json& settings) {
  const auto older = settings.find("additional_special_tokens");
  if (older == settings.end() || settings.contains("extra_special_tokens")) return;
  settings["extra_special_tokens"] = *older;
}

// Puts special_tokens_map.json into the settings. Its values replace those of
// tokenizer_config.json. Its list of extra tokens is appended to the list of tokenizer_config.json.
void take_map(const json& map, json& settings) {
  for (const auto& [key, value] : map.items()) {
    json& setting = settings[key];
    if (key != "extra_special_tokens" || !value.is_array() || !setting.is_array()) {
      setting = value;
      continue;
    }
    for (const json& token : value) {
      if (std::ranges::find(setting, token) == setting.end()) setting.push_back(token);
    }
  }
}

std::string text_in(const json& settings, const char* key) {
  const auto found = settings.find(key);
  return found != settings.end() && found->is_string() ? found->get<std::string>() : "";
}

std::optional<bool> switch_in(const json& settings, const char* key) {
  const auto found = settings.find(key);
  if (found == settings.end() || !found->is_boolean()) return std::nullopt;
  return found->get<bool>();
}

int32_t id_of_key(const std::string& key, const std::string& path) {
  const std::optional<int32_t> id = parse_number<int32_t>(key);
  if (!id || *id < 0 || *id >= kMostTokenIds) {
    fail_data(path + ": " + penstock::quoted(key) + " in added_tokens_decoder is no id");
  }
  return *id;
}

// Returns added tokens from an object with their ids as keys: {"5": {"content": "<s>", ...}, ...}.
std::vector<AddedToken> added_in(const json& tokens, const std::string& path) {
  std::vector<AddedToken> added;
  for (const auto& [key, token] : tokens.items()) {
    if (!token.is_object()) fail_data(path + ": " + penstock::quoted(key) + " is no added token");
    added.push_back(token_of(token, path));
    added.back().id = id_of_key(key, path);
  }
  return added;
}

// Returns the added tokens of an older folder, from a file with their ids as values: {"<s>": 5,
// ...}. A token that the settings name becomes a special one.
std::vector<AddedToken> older_added_in(const std::string& path, const FolderSettings& settings) {
  std::vector<AddedToken> added;
  const json tokens = read_json_file(path, kMostSettingsBytes, FileOwner::User);
  for (const auto& [content, id] : tokens.items()) {
    if (content.empty() || !id.is_number_unsigned() || id >= kMostTokenIds) {
      fail_data(path + ": " + penstock::quoted(content) + " is no token with its id");
    }
    const bool special = names_token(settings, content);
    added.push_back(
        {.id = id.get<int32_t>(), .content = content, .special = special, .normalized = !special});
  }
  return added;
}

// Returns the chat template, or an empty text if there is none. The settings hold it as a text, or
// in a list under the name "default".
std::string template_in(const json& settings) {
  const auto found = settings.find("chat_template");
  if (found == settings.end()) return {};
  if (found->is_string()) return found->get<std::string>();
  if (!found->is_array()) return {};
  for (const json& one : *found) {
    if (!one.is_object() || one.value("name", json()) != json("default")) continue;
    const auto text = one.find("template");
    if (text != one.end() && text->is_string()) return text->get<std::string>();
  }
  return {};
}

// Returns the content of a file of the folder, or an empty object if the folder has no such file.
json object_in(const std::string& folder, const char* name) {
  const std::string path = file_in(folder, name);
  return path.empty() ? json::object() : read_json_file(path, kMostSettingsBytes, FileOwner::User);
}

bool has_text(const std::string& folder, const char* name, const char* text) {
  const std::string path = file_in(folder, name);
  return !path.empty() &&
         read_text(path, kMostTokenizerBytes, FileOwner::User).find(text) != std::string::npos;
}

void take_switches(const json& settings, FolderSettings& read) {
  read.add_begin = switch_in(settings, "add_bos_token");
  read.add_end = switch_in(settings, "add_eos_token");
  read.legacy = switch_in(settings, "legacy");
  read.add_prefix_space = switch_in(settings, "add_prefix_space");
  read.split_special = switch_in(settings, "split_special_tokens").value_or(false);
}

// Refuses settings that change ids in ways that are not supported: other tokenizer files, other
// expressions, and code that the folder brings.
void refuse_unsupported(const json& settings, const std::string& model_type,
                        const FolderSettings& read) {
  const auto refuse = [&](const char* key, const char* why) {
    fail_input(read.path + ": \"" + key + "\" " + why);
  };
  const json files = settings.value("fast_tokenizer_files", json::array());
  const bool plain =
      std::ranges::all_of(files, [](const json& file) { return file == json("tokenizer.json"); });
  if (!plain) {
    refuse("fast_tokenizer_files",
           "names other files for other versions of transformers, which is not supported: keep the "
           "one you want as tokenizer.json, and take the key out");
  }
  if (!settings.value("init_inputs", json::array()).empty()) {
    refuse("init_inputs", "is not supported: load and save the folder with transformers 5");
  }
  const bool maybe_mistral = model_type.empty() || model_type.find("mistral") != std::string::npos;
  if (maybe_mistral && switch_in(settings, "fix_mistral_regex").value_or(false)) {
    refuse("fix_mistral_regex",
           "is not supported: load and save the folder with transformers 5, which writes the other "
           "expression into tokenizer.json, and take the key out");
  }
  const json code = settings.value("auto_map", json());
  if ((code.is_array() || code.contains("AutoTokenizer")) && !is_known_class(read.kind)) {
    refuse("auto_map",
           "says that the tokenizer is a program of the folder's own, which is not run: where "
           "tokenizer.json does the same, take the key out and write \"tokenizer_class\": "
           "\"PreTrainedTokenizerFast\"");
  }
}

}  // namespace

std::string file_in(const std::string& folder, const std::string& name) {
  const std::filesystem::path path = std::filesystem::path(folder) / name;
  std::error_code ignored;
  return std::filesystem::is_regular_file(path, ignored) ? path.string() : std::string();
}

bool names_token(const FolderSettings& settings, const std::string& content) {
  const auto has = [&](const std::vector<AddedToken>& tokens) {
    return std::ranges::find(tokens, content, &AddedToken::content) != tokens.end();
  };
  return has(settings.named) || has(settings.own) || has(settings.listed) ||
         std::ranges::any_of(settings.assumed, [&](const auto& assumed) {
           return assumed.second.content == content;
         });
}

FolderSettings read_folder_settings(const std::string& folder) {
  FolderSettings read;
  read.path = (std::filesystem::path(folder) / "tokenizer_config.json").string();
  json settings = object_in(folder, "tokenizer_config.json");
  const json network = object_in(folder, "config.json");
  take_switches(settings, read);
  read.kind = text_in(settings.contains("tokenizer_class") ? settings : network, "tokenizer_class");
  if (read.kind.ends_with("Fast")) read.kind.resize(read.kind.size() - 4);
  refuse_unsupported(settings, text_in(network, "model_type"), read);
  read.opened = opened_class(
      read.kind, text_in(network, "model_type"),
      read.kind == "LlamaTokenizer" && has_text(folder, "tokenizer.json", "\"ByteLevel\""));
  const auto tokens = settings.find("added_tokens_decoder");
  read.says_added = tokens != settings.end() && tokens->is_object();
  if (read.says_added) read.added = added_in(*tokens, read.path);
  if (settings.value("extra_special_tokens", json()).empty())
    settings.erase("extra_special_tokens");
  rename_list(settings);
  if (!read.says_added) take_map(object_in(folder, "special_tokens_map.json"), settings);
  rename_list(settings);
  take_named(settings, read);
  take_assumed(settings, read);
  read.added_path = read.path;
  if (const std::string older = file_in(folder, "added_tokens.json");
      !read.says_added && !older.empty()) {
    read.added = older_added_in(older, read);
    read.added_path = older;
  }
  std::ranges::sort(read.added, {}, &AddedToken::id);
  read.chat_template = template_in(settings);
  const std::string chat = file_in(folder, "chat_template.jinja");
  if (!chat.empty()) {
    read.chat_template = read_text(chat, kMostSettingsBytes, FileOwner::User);
    refuse_stand_in(read.chat_template, chat);
  }
  return read;
}

}  // namespace penstock
