#include "runtime/data/tuning/chat_template.h"

#include "runtime/data/folder/folder_settings.h"
#include "runtime/data/jinja/dates.h"
#include "runtime/data/jinja/runner.h"

namespace penstock {
namespace {

class JinjaTemplate final : public ChatTemplate {
 public:
  JinjaTemplate(const std::string& text, const ChatSpecials& specials, const std::string& where)
      : whole_(jinja::parse_template(text, where)) {
    for (const auto& [name, token] :
         {std::pair("bos_token", &specials.begin), std::pair("eos_token", &specials.end),
          std::pair("pad_token", &specials.padding)}) {
      if (!token->empty()) names_.emplace_back(name, *token);
    }
    names_.emplace_back("tools", jinja::None());
    names_.emplace_back("documents", jinja::None());
    if (!specials.date.empty()) jinja::set_today(names_, specials.date);
  }

  [[nodiscard]] std::string render(const std::vector<ChatMessage>& messages,
                                   bool add_generation_prompt) const override {
    jinja::List list;
    for (const ChatMessage& message : messages) {
      list.emplace_back(jinja::Map{{"role", message.role}, {"content", message.content}});
    }
    jinja::Map names = names_;
    names.emplace_back("messages", std::move(list));
    names.emplace_back("add_generation_prompt", add_generation_prompt);
    return jinja::run_template(*whole_, names);
  }

 private:
  std::unique_ptr<jinja::Node> whole_;
  jinja::Map names_;
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
  return make_chat_template(settings.chat_template,
                            {settings.begin, settings.end, settings.padding, date},
                            settings.path + ", chat template");
}

}  // namespace penstock
