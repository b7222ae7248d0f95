#include "runtime/data/datasets/tuning/chat_template.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "kernels/error.h"
#include "runtime/data/templates/runner.h"
#include "runtime/data/templates/values/dates.h"
#include "runtime/data/tokenizer/hub/folder_settings.h"
#include "runtime/data/tokenizer/utf8.h"

namespace penstock {
namespace {

using nlohmann::ordered_json;

class JinjaTemplate final : public ChatTemplate {
 public:
  JinjaTemplate(const std::string& text, const ChatSpecials& specials, std::string where)
      : where_(std::move(where)),
        whole_(jinja::parse_template(text, where_)),
        date_(specials.date) {
    for (const auto& [name, token] :
         {std::pair("bos_token", &specials.begin), std::pair("eos_token", &specials.end),
          std::pair("pad_token", &specials.padding)}) {
      if (!token->empty()) names_[name] = valid(*token);
    }
    names_["tools"] = nullptr;
    names_["documents"] = nullptr;
    if (!date_.empty()) jinja::check_date(date_);
  }

  [[nodiscard]] std::string render(const std::vector<ChatMessage>& messages,
                                   bool add_generation_prompt,
                                   const ChatExtras& extras) const override {
    ordered_json names = names_;
    names["messages"] = ordered_json::array();
    for (const ChatMessage& message : messages) {
      names["messages"].push_back(
          {{"role", valid(message.role)}, {"content", valid(message.content)}});
    }
    names["add_generation_prompt"] = add_generation_prompt;
    if (!extras.tools.empty()) names["tools"] = ordered_json::parse(extras.tools);
    if (!extras.keywords.empty()) names.update(ordered_json::parse(extras.keywords));
    try {
      return jinja::run_template(*whole_, names, date_);
    } catch (const Error& error) {
      throw Error(error.kind(), where_ + ", " + error.what());
    }
  }

  [[nodiscard]] bool names(const std::string& name) const override {
    return any_node(*whole_, [&](const jinja::Node& node) {
      return node.kind == jinja::Node::Kind::Name && node.text == name;
    });
  }
  [[nodiscard]] bool says(const std::string& text) const override {
    return any_node(*whole_, [&](const jinja::Node& node) {
      return node.kind == jinja::Node::Kind::String && node.text.find(text) != std::string::npos;
    });
  }
  [[nodiscard]] bool knows_role(const std::string& role) const override {
    return any_node(*whole_, [&](const jinja::Node& node) {
      return node.kind == jinja::Node::Kind::String && node.text == role;
    });
  }

 private:
  // Returns the text as valid UTF-8. Bytes that are no UTF-8 are replaced in the same way as in
  // Python.
  static std::string valid(const std::string& text) {
    std::string storage;
    return std::string(valid_utf8(text, storage));
  }
  template <class Fits>
  static bool any_node(const jinja::Node& node, const Fits& fits) {
    return fits(node) || std::ranges::any_of(node.parts, [&](const auto& part) {
             return part && any_node(*part, fits);
           });
  }

  const std::string where_;
  std::unique_ptr<jinja::Node> whole_;
  const std::string date_;
  ordered_json names_ = ordered_json::object();
};

}  // namespace

std::unique_ptr<ChatTemplate> make_chat_template(const std::string& text,
                                                 const ChatSpecials& specials,
                                                 const std::string& where) {
  return std::make_unique<JinjaTemplate>(text, specials, where);
}

std::unique_ptr<ChatTemplate> open_chat_template(const std::string& folder,
                                                 const std::string& date) {
  const FolderSettings settings = read_folder_settings(folder);
  if (settings.chat_template.empty()) return nullptr;
  const std::string alone = file_in(folder, "chat_template.jinja");
  return make_chat_template(settings.chat_template,
                            {settings.begin, settings.end, settings.padding, date},
                            alone.empty() ? settings.path + ", chat_template" : alone);
}

}  // namespace penstock
