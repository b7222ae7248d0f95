// Chat templates: what transformers made of the same conversations (tests/python/chat_test.py wrote
// chats.json, and compares live where the package is installed).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "runtime/data/datasets/tuning/chat_template.h"
#include "runtime/system/files/json.h"
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

// One construct of Jinja a line (tests/python/templates_test.py wrote the texts): what jinja2
// refuses we refuse, and those that only we refuse are marked.
TEST(ChatTemplates, RunTheConstructsOfJinja) {
  const std::string path = std::string(PENSTOCK_WORDS) + "/constructs.json";
  const json all = json::parse(read_file(path));
  ASSERT_GE(all.size(), 200U);
  ChatSpecials specials{"<s>", "</s>", "", "2024-07-26"};
  const std::vector<ChatMessage> messages = {
      {"system", "Be"}, {"user", "<Hi> 'you' & me"}, {"assistant", "  yes\n"}};
  for (const json& one : all) {
    const std::string text = one["template"];
    const auto render = [&] {
      return make_chat_template(text, specials, "t.jinja")->render(messages, false);
    };
    if (one["text"].is_null() || one.contains("refused")) {
      EXPECT_THROW((void)render(), Error) << one["name"];
    } else {
      EXPECT_EQ(render(), one["text"].get<std::string>()) << one["name"];
    }
  }
}

// The calls are those of the templates of Llama 3.2 and 3.3, the forms those of Python's
// strftime().
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
       {"{{ strftime_now('%d') }}", "{{ range }}", "{{ f(1) }}", "{{ 'a' is odd }}", "{{ x.y.z }}",
        "{{ 1 / 0 }}", "{{ 'a' | map }}", "{{ [].append(1) }}", "{{ raise_exception('no') }}",
        "{% include 'a' %}", "{% import 'a' as b %}", "{% set ns = namespace() %}{{ [ns] }}",
        "{{ 'a' | wordwrap }}", "{{ 'a'.translate({}) }}", "{{ 9223372036854775807 + 1 }}"}) {
    expect_error(ErrorKind::Input, {"t.jinja, line 1: ", "chat template"},
                 [&] { (void)chat_text(text); });
  }
}

// Each of these took all memory of the machine, or minutes, before there was a budget.
TEST(ChatTemplates, KeepWithinTheirBudget) {
  const std::string memory = "more than 64 MiB";
  const std::string work = "computes for too long";
  const std::vector<std::pair<std::string, std::string>> greedy = {
      {"{% set ns = namespace(x='a') %}{% for i in range(99) %}{% set ns.x = ns.x ~ ns.x %}"
       "{% endfor %}",
       memory},
      {"{% set ns = namespace(x=[1]) %}{% for i in range(99) %}{% set ns.x = ns.x + ns.x %}"
       "{% endfor %}",
       memory},
      {"{{ 'a' * 10000000000 }}", memory},
      {"{% for i in range(100000) %}{{ 'a' * 1000 }}{% endfor %}", memory},
      {"{{ ('a' * 30000000) | list | length }}", memory},
      {"{{ '{:>9999}'.format('a') * 7000 }}", memory},
      {"{{ ('a,' * 1000000).split(',') | join('b' * 1000) }}", memory},
      {"{% for a in range(9999) %}{% for b in range(9999) %}{% for c in range(9999) %}{% endfor %}"
       "{% endfor %}{% endfor %}",
       work},
      {"{% set a = 'ab' * 1000000 %}{{ (a * 10).find(a ~ 'c') }}", work},
      {"{% set l = range(100000) | list %}{% for i in l %}{{ i in l }}{% endfor %}", work},
      {"{% set l = range(100000) | list %}{% for i in l %}{% set q = l | sum %}{% endfor %}", work},
      {"{% set s = ' ' * 9000000 %}{% for i in range(9999) %}{% set q = s.strip() %}{% endfor %}",
       work},
      {"{% set ns = namespace(x=[]) %}{% for i in range(90) %}{% set ns.x = [ns.x, ns.x] %}"
       "{% endfor %}{{ ns.x == ns.x }}",
       work},
      {"{% set ns = namespace(x=[]) %}{% for i in range(999) %}{% set ns.x = [ns.x] %}{% endfor %}",
       "too deeply"},
      {"{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}", "too often"},
      {"{{ 99 ** 99999999 }}", "too large"},
  };
  for (const auto& one : greedy) {
    expect_error(ErrorKind::Input, {"t.jinja, line 1: the chat template", one.second},
                 [&] { (void)chat_text(one.first); });
  }
}

TEST(ChatTemplates, NameTheLineOfWhatIsNone) {
  for (const char* text :
       {"\n{{ 'a }}", "\n{% if x %}", "\n{{ (1 }}", "\n{% endif %}", "\n{# ", "\n{{ 1 1 }}",
        "\n{% for x y %}{% endfor %}", "\n{% break %}", "\n{{ '\\ud800' }}", "\n{{ ? }}"}) {
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
  expect_error(ErrorKind::Input, {"computes for too long"}, [&] { (void)chat_text(loops); });
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
