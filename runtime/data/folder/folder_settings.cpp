#include "runtime/data/folder/folder_settings.h"

#include <charconv>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "kernels/error.h"
#include "runtime/files/json.h"

namespace penstock {
namespace {

using nlohmann::json;

constexpr int64_t kMostSettingsBytes = int64_t{8} << 20;

// "<s>", or {"content": "<s>", ...}.
void take_token(const json& settings, const char* key, std::string& token) {
  const auto found = settings.find(key);
  if (!token.empty() || found == settings.end()) return;
  if (found->is_string()) token = found->get<std::string>();
  if (found->is_object() && found->contains("content") && (*found)["content"].is_string()) {
    token = (*found)["content"].get<std::string>();
  }
}

std::optional<bool> switch_in(const json& settings, const char* key) {
  const auto found = settings.find(key);
  if (found == settings.end() || !found->is_boolean()) return std::nullopt;
  return found->get<bool>();
}

std::vector<AddedToken> added_in(const json& settings, const std::string& path) {
  std::vector<AddedToken> added;
  const auto tokens = settings.find("added_tokens_decoder");
  if (tokens == settings.end() || !tokens->is_object()) return added;
  for (const auto& [key, token] : tokens->items()) {
    AddedToken one;
    const char* const last = key.data() + key.size();
    const auto [end, error] = std::from_chars(key.data(), last, one.id);
    if (error != std::errc() || end != last || one.id < 0 || one.id >= kMostTokenIds ||
        !token.is_object()) {
      fail_data(path + ": " + penstock::quoted(key) + " in added_tokens_decoder is no id");
    }
    one.content = json_text(token, "content", path);
    if (one.content.empty()) fail_data(path + ": an added token is empty");
    one.special = token.value("special", json(false)) == json(true);
    one.left = token.value("lstrip", json(false)) == json(true);
    one.right = token.value("rstrip", json(false)) == json(true);
    one.single_word = token.value("single_word", json(false)) == json(true);
    added.push_back(std::move(one));
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
  for (const char* name : {"tokenizer_config.json", "special_tokens_map.json"}) {
    const std::string path = file_in(folder, name);
    if (path.empty()) continue;
    const json settings = read_json_file(path, kMostSettingsBytes, FileOwner::User);
    take_token(settings, "bos_token", read.begin);
    take_token(settings, "eos_token", read.end);
    take_token(settings, "pad_token", read.padding);
    if (std::string_view(name) != "tokenizer_config.json") continue;
    read.add_begin = switch_in(settings, "add_bos_token");
    read.add_end = switch_in(settings, "add_eos_token");
    read.added = added_in(settings, path);
    read.chat_template = template_in(settings);
  }
  const std::string chat = file_in(folder, "chat_template.jinja");
  if (!chat.empty()) read.chat_template = read_text(chat, kMostSettingsBytes, FileOwner::User);
  return read;
}

}  // namespace penstock
