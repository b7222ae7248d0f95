// Chat templates: what transformers made of the same conversations (tests/python/chat_test.py wrote
// chats.json, and compares live where the package is installed).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "runtime/data/tuning/chat_template.h"
#include "runtime/files/json.h"
#include "tests/unit/data/fixtures.h"

namespace penstock::test {
namespace {

using nlohmann::json;

std::unique_ptr<ChatTemplate> chat_of(const std::string& text) {
  return make_chat_template(text, {"<s>", "</s>", ""}, "t.jinja");
}

std::string chat_text(const std::string& text, const std::vector<ChatMessage>& messages = {}) {
  return chat_of(text)->render(messages, false);
}

TEST(ChatTemplates, WriteWhatTransformersWrites) {
  const std::string path = std::string(PENSTOCK_WORDS) + "/chats.json";
  const json goldens = read_json_file(path, 1 << 20, FileOwner::User);
  ASSERT_GE(goldens["templates"].size(), 9U);
  for (const json& one : goldens["templates"]) {
    const auto chat = chat_of(one["template"]);
    for (const json& conversation : one["cases"]) {
      std::vector<ChatMessage> messages;
      for (const json& message : conversation["messages"]) {
        messages.push_back({message["role"], message["content"]});
      }
      const auto render = [&] { return chat->render(messages, conversation["prompt"]); };
      if (conversation["text"].is_null()) {
        EXPECT_THROW((void)render(), Error) << one["name"];
      } else {
        EXPECT_EQ(render(), conversation["text"].get<std::string>()) << one["name"];
      }
    }
  }
}

// As the templates of Llama 3.2 and 3.3 ask for it; the forms are those of Python's strftime().
TEST(ChatTemplates, WriteTheDateThatTheyAreGiven) {
  const std::string text =
      "{% if strftime_now is defined %}{{ strftime_now('%d %b %Y|%A, %B %d|%a %m/%y 100%%') }}"
      "{% else %}26 Jul 2024{% endif %}";
  const auto written = [&](const std::string& template_text, const std::string& date) {
    ChatSpecials specials;
    specials.date = date;
    return make_chat_template(template_text, specials, "t.jinja")->render({}, false);
  };
  EXPECT_EQ(written(text, ""), "26 Jul 2024");
  EXPECT_EQ(written(text, "2024-02-29"), "29 Feb 2024|Thursday, February 29|Thu 02/24 100%");
  EXPECT_EQ(written(text, "2031-12-01"), "01 Dec 2031|Monday, December 01|Mon 12/31 100%");
  for (const char* date : {"2023-02-29", "2024-2-29", "yesterday", "2024-02-2x", "20240-2-29"}) {
    expect_error(ErrorKind::Input, {"data.date", date}, [&] { (void)written(text, date); });
  }
  expect_error(ErrorKind::Input, {"%H"},
               [&] { (void)written("{{ strftime_now('%H') }}", "2024-02-29"); });
  expect_error(ErrorKind::Input, {"data.date"},
               [&] { (void)written("{{ strftime_now('%d') }}", ""); });
}

TEST(ChatTemplates, RefuseWhatTheyAreNotSureOf) {
  for (const char* text :
       {"{{ strftime_now('%d') }}", "{{ messages | tojson }}", "{{ messages }}", "{{ f(1) }}",
        "{{ 'a' is odd }}", "{{ x.y.z }}", "{{ 'abc'[0] }}", "{{ 1 / 2 }}", "{{ 'a' | map }}",
        "{{ 'x'.zfill(3) }}", "{{ raise_exception('no') }}", "{% macro f() %}{% endmacro %}",
        "{% include 'a' %}", "{% raw %}{% endraw %}"}) {
    expect_error(ErrorKind::Input, {"chat template"}, [&] { (void)chat_text(text); });
  }
}

TEST(ChatTemplates, NameTheLineOfWhatIsNone) {
  for (const char* text :
       {"\n{{ 'a }}", "\n{% if x %}", "\n{{ (1 }}", "\n{% endif %}", "\n{# ", "\n{{ 1 1 }}",
        "\n{% for x y %}{% endfor %}", "\n{{ '\\ud800' }}", "\n{{ ? }}"}) {
    expect_error(ErrorKind::Data, {"t.jinja, line 2"}, [&] { (void)chat_text(text); });
  }
  std::string deep;
  for (int i = 0; i < 5000; ++i) deep = "(" + deep + ")";
  expect_error(ErrorKind::Data, {"nested too deeply"},
               [&] { (void)chat_text("{{ " + deep + " }}"); });
  std::string chain = "1";
  for (int i = 0; i < 5000; ++i) chain += "+1";
  expect_error(ErrorKind::Data, {"nested"}, [&] { (void)chat_text("{{ " + chain + " }}"); });
  std::string loops;
  for (int i = 0; i < 30; ++i) loops += "{% for a in [1,2,3,4,5,6,7,8,9] %}";
  for (int i = 0; i < 30; ++i) loops += "{% endfor %}";
  expect_error(ErrorKind::Input, {"too many steps"}, [&] { (void)chat_text(loops); });
}

// What an answer is: all that is added to what stands there when it is the assistant's turn.
TEST(ChatTexts, TellWhatTheAssistantSays) {
  const auto chat = chat_of(
      "{% for m in messages %}<{{ m.role }}>{{ m.content }}<end>\n{% endfor %}"
      "{% if add_generation_prompt %}<assistant>{% endif %}");
  const std::vector<ChatMessage> messages = {
      {"user", "hi"}, {"assistant", "one"}, {"user", "more"}, {"assistant", "two"}};
  const auto said = [&](const ChatText& text) {
    std::vector<std::string> answers;
    for (const auto& [begin, end] : text.answers) {
      answers.push_back(text.text.substr(begin, end - begin));
    }
    return answers;
  };
  EXPECT_THAT(said(render_answers(*chat, messages, 0)),
              testing::ElementsAre("one<end>\n", "two<end>\n"));
  EXPECT_THAT(said(render_answers(*chat, messages, 2)), testing::ElementsAre("two<end>\n"));
  // A template that leaves out what was thought in earlier turns.
  const auto forgetful = chat_of(
      "{% for m in messages %}<{{ m.role }}>{{ 'hm ' if loop.last and m.role == 'assistant' }}"
      "{{ m.content }}{% endfor %}{% if add_generation_prompt %}<assistant>{% endif %}");
  const ChatText last = render_answers(*forgetful, messages, 0);
  EXPECT_TRUE(last.only_last);
  EXPECT_THAT(said(last), testing::ElementsAre("hm two"));
}

}  // namespace
}  // namespace penstock::test
