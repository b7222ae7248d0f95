#include "runtime/data/folder/folder_settings.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "kernels/error.h"
#include "runtime/files/json.h"
#include "runtime/files/stand_in.h"

namespace penstock {
namespace {

using nlohmann::json;

constexpr int64_t kMostSettingsBytes = int64_t{8} << 20;

// What a token is found by, of {"content": "<s>", "lstrip": false, ...}.
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

// Likewise, or of a text alone; nothing for what is neither.
std::optional<AddedToken> named_token(const json& token, const std::string& path) {
  const bool object = token.is_object() && token.contains("content");
  if (!object && (!token.is_string() || token.get_ref<const std::string&>().empty())) {
    return std::nullopt;
  }
  AddedToken one = object ? token_of(token, path) : AddedToken{.content = token};
  one.special = true;
  return one;
}

void take_named(const json& settings, const std::string& path, FolderSettings& read) {
  const auto take = [&](const json& token) {
    const std::optional<AddedToken> one = named_token(token, path);
    if (one) read.named.push_back(*one);
    return one ? one->content : "";
  };
  const auto take_first = [&](const char* key, std::string* of) {
    const auto found = settings.find(key);
    if (found == settings.end() || (of != nullptr && !of->empty())) return;
    const std::string content = take(*found);
    if (of != nullptr) *of = content;
  };
  take_first("bos_token", &read.begin);
  take_first("eos_token", &read.end);
  take_first("pad_token", &read.padding);
  for (const char* key : {"unk_token", "sep_token", "cls_token", "mask_token"}) {
    take_first(key, nullptr);
  }
  for (const char* key : {"additional_special_tokens", "extra_special_tokens"}) {
    const auto list = settings.find(key);
    if (list == settings.end() || !list->is_structured()) continue;
    for (const json& token : *list) (void)take(token);
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
  int32_t id = 0;
  const char* const last = key.data() + key.size();
  const auto [end, error] = std::from_chars(key.data(), last, id);
  if (error != std::errc() || end != last || id < 0 || id >= kMostTokenIds) {
    fail_data(path + ": " + penstock::quoted(key) + " in added_tokens_decoder is no id");
  }
  return id;
}

// {"5": {"content": "<s>", ...}, ...}
std::vector<AddedToken> added_in(const json& tokens, const std::string& path) {
  std::vector<AddedToken> added;
  for (const auto& [key, token] : tokens.items()) {
    if (!token.is_object()) fail_data(path + ": " + penstock::quoted(key) + " is no added token");
    added.push_back(token_of(token, path));
    added.back().id = id_of_key(key, path);
  }
  return added;
}

// {"<s>": 5, ...}, of older folders: those that have a name are special.
std::vector<AddedToken> older_added_in(const std::string& path,
                                       const std::vector<AddedToken>& named) {
  std::vector<AddedToken> added;
  const json tokens = read_json_file(path, kMostSettingsBytes, FileOwner::User);
  for (const auto& [content, id] : tokens.items()) {
    if (content.empty() || !id.is_number_unsigned() || id >= kMostTokenIds) {
      fail_data(path + ": " + penstock::quoted(content) + " is no token with its id");
    }
    const bool special = std::ranges::find(named, content, &AddedToken::content) != named.end();
    added.push_back(
        {.id = id.get<int32_t>(), .content = content, .special = special, .normalized = !special});
  }
  return added;
}

// A text, or a list of named ones, of which the default is meant.
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

}  // namespace

std::string file_in(const std::string& folder, const std::string& name) {
  const std::filesystem::path path = std::filesystem::path(folder) / name;
  std::error_code ignored;
  return std::filesystem::is_regular_file(path, ignored) ? path.string() : std::string();
}

FolderSettings read_folder_settings(const std::string& folder) {
  FolderSettings read;
  read.path = (std::filesystem::path(folder) / "tokenizer_config.json").string();
  bool says_added = false;
  for (const char* name : {"tokenizer_config.json", "special_tokens_map.json"}) {
    const std::string path = file_in(folder, name);
    if (path.empty()) continue;
    const json settings = read_json_file(path, kMostSettingsBytes, FileOwner::User);
    take_named(settings, path, read);
    if (std::string_view(name) != "tokenizer_config.json") continue;
    read.add_begin = switch_in(settings, "add_bos_token");
    read.add_end = switch_in(settings, "add_eos_token");
    read.legacy = switch_in(settings, "legacy");
    read.add_prefix_space = switch_in(settings, "add_prefix_space");
    read.kind = text_in(settings, "tokenizer_class");
    if (read.kind.ends_with("Fast")) read.kind.resize(read.kind.size() - 4);
    read.chat_template = template_in(settings);
    if (const auto tokens = settings.find("added_tokens_decoder");
        tokens != settings.end() && tokens->is_object()) {
      says_added = true;
      read.added = added_in(*tokens, path);
    }
  }
  const std::string older = file_in(folder, "added_tokens.json");
  if (!says_added && !older.empty()) read.added = older_added_in(older, read.named);
  std::ranges::sort(read.added, {}, &AddedToken::id);
  if (const std::string config = file_in(folder, "config.json"); !config.empty()) {
    read.model_type =
        text_in(read_json_file(config, kMostSettingsBytes, FileOwner::User), "model_type");
  }
  const std::string chat = file_in(folder, "chat_template.jinja");
  if (!chat.empty()) {
    read.chat_template = read_text(chat, kMostSettingsBytes, FileOwner::User);
    refuse_stand_in(read.chat_template, chat);
  }
  return read;
}

}  // namespace penstock
