// Lines of data.kind = "jsonl" as people write them: what is taken for what, left out, refused.
#include "tests/unit/data/words/tuning_lines.h"

namespace penstock::test {
namespace {

// The forms that others write are taken for ours, and it is said which.
TEST_F(Tuning, FormsOfOthersAreTakenAndSaid) {
  const auto taken = [&](const std::string& line, const std::string& answer,
                         const std::string& note) {
    const auto [said, about] = learnt(line);
    EXPECT_EQ(said, answer) << line;
    EXPECT_THAT(about, testing::HasSubstr(note)) << line;
  };
  taken(R"({"conversations": [{"from": "human", "value": "x"}, {"from": "gpt", "value": "y"}]})",
        "y<|eot_id|>", "1 line in ShareGPT's form");
  taken(R"({"instruction": "add", "input": "1 2", "output": "3"})", "3<|eot_id|>",
        "1 line in Alpaca's form");
  taken(R"({"prompt": "a", "response": "b"})", "b<|end_of_text|>", "1 line with \"response\"");
  taken(
      R"({"messages": [{"role": "User", "content": "x"}, {"role": "Assistant", "content": "y"}]})",
      "y<|eot_id|>", "1 line with roles of other names");
  taken(R"({"messages": [{"role": "human", "content": "x"}, {"role": "model", "content": "y"}]})",
        "y<|eot_id|>", "1 line with roles of other names");
  const std::string array = R"( [{"text": "the a"},
 {"prompt": "a,]", "completion": "\"}"} ] )";
  taken(array, "the a<|end_of_text|>", "2 lines in 2 rows of 60");
  taken(array, "the a<|end_of_text|>", "is a JSON array");
  taken("\xEF\xBB\xBF[{\"text\": \"the a\"}]\n", "the a<|end_of_text|>", "is a JSON array");
}

// A role that the template knows itself stays.
TEST_F(Tuning, DeveloperIsSystemWhereTheTemplateDoesNotKnowIt) {
  const std::string line = R"({"messages": [{"role": "developer", "content": "s"},)"
                           R"( {"role": "user", "content": "x"},)"
                           R"( {"role": "assistant", "content": "y"}]})";
  EXPECT_THAT(learnt(line).second, testing::HasSubstr("1 line with roles of other names"));
  write_file(
      files_ / "folder/chat_template.jinja",
      "{% for m in messages %}{{ 'D' if m.role == 'developer' }}{{ m.content }}{% endfor %}");
  EXPECT_THAT(learnt(line).second, testing::Not(testing::HasSubstr("roles")));
}

// Each line that teaches nothing is counted by its own reason.
TEST_F(Tuning, ReasonsToLeaveALineOutAreTrue) {
  const auto reason = [&](const std::string& line, const std::string& why) {
    EXPECT_THAT(learnt("{\"text\": \"the a\"}\n" + line).second,
                testing::HasSubstr("1 line left out: 1 " + why))
        << line;
  };
  const std::string asked = R"({"messages": [{"role": "user", "content": "x"})";
  reason(asked + "]}", "without an answer");
  reason(asked + R"(, {"role": "assistant", "content": "y", "weight": 0}]})",
         "whose answers have the weight 0");
  write_file(files_ / "folder/tokenizer_config.json", "{}");
  reason(R"({"prompt": "x", "completion": ""})", "without an answer");
  reason(R"({"text": ""})", "of fewer than two tokens");
  write_file(files_ / "folder/chat_template.jinja",
             "{% for m in messages %}{% if m.role == 'user' %}{{ m.content }}{% endif %}"
             "{% endfor %}");
  reason(asked + R"(, {"role": "assistant", "content": "y"}]})", "whose answer comes to no token");
  // What was said before is shortened once more is said.
  write_file(files_ / "folder/chat_template.jinja",
             "{% for m in messages %}{{ m.content if loop.last else '-' }}{% endfor %}");
  reason(asked + R"(, {"role": "assistant", "content": "y"}]})",
         "whose answer, or what stands before it, the chat template writes anew");
}

// OpenAI's files say so of each answer.
TEST_F(Tuning, AnswersOfWeightZeroAreNotLearnt) {
  const auto said = [&](const std::string& first, const std::string& second) {
    return learnt(R"({"messages": [{"role": "user", "content": "x"},)"
                  R"({"role": "assistant", "content": "y")" +
                  first +
                  R"(}, {"role": "user", "content": "x"},)"
                  R"({"role": "assistant", "content": "z")" +
                  second + "}]}")
        .first;
  };
  EXPECT_EQ(said(R"(, "weight": 0)", R"(, "weight": 1)"), "z<|eot_id|>");
  EXPECT_EQ(said("", R"(, "weight": 0)"), "y<|eot_id|>");
  EXPECT_EQ(said(R"(, "weight": null)", R"(, "weight": 0)"), "y<|eot_id|>");
  expect_error(ErrorKind::Input, {"train.jsonl, line 1: message 2 has a \"weight\""},
               [&] { (void)said(R"(, "weight": 0.5)", ""); });
}

// OpenAI's own replies have such keys in each message.
TEST_F(Tuning, KeysOfMessagesThatSayNothingArePassedOver) {
  const auto with = [&](const std::string& member) {
    return learnt(R"({"messages": [{"role": "user", "content": "x"},)"
                  R"({"role": "assistant", "content": "y", )" +
                  member + "}]}");
  };
  for (const char* member : {R"("annotations": [])", R"("refusal": null)", R"("name": "")",
                             R"("audio": {}, "tool_calls": [])"}) {
    EXPECT_EQ(with(member).first, "y<|eot_id|>") << member;
  }
  for (const char* member : {R"("annotations": [{}])", R"("refusal": "no")", R"("name": " ")",
                             R"("audio": 0)", R"("tool_calls": false)"}) {
    expect_error(ErrorKind::Input, {"train.jsonl, line 1: message 2 has \""},
                 [&] { (void)with(member); });
  }
  EXPECT_EQ(learnt(R"({"images": "", "history": [], "documents": {}, "messages": [)"
                   R"({"role": "user", "content": "x"}, {"role": "assistant", "content": "y"}]})")
                .first,
            "y<|eot_id|>");
}

// One text in a list is that text; of more, nobody knows what stands between them.
TEST_F(Tuning, AContentOfOneTextIsThatText) {
  const auto with = [&](const std::string& content) {
    return learnt(R"({"messages": [{"role": "user", "content": "x"},)"
                  R"({"role": "assistant", "content": )" +
                  content + "}]}");
  };
  const auto [said, note] = with(R"([{"type": "text", "text": "y"}])");
  EXPECT_EQ(said, "y<|eot_id|>");
  EXPECT_THAT(note, testing::HasSubstr("1 line with a content that is a list of one text"));
  const auto refused = [&](ErrorKind kind, const std::string& content, const std::string& why) {
    expect_error(kind, {"train.jsonl, line 1: message 2 has ", why}, [&] { (void)with(content); });
  };
  refused(ErrorKind::Input, R"([{"type": "text", "text": "y"}, {"type": "text", "text": "z"}])",
          "a content of 2 parts");
  refused(ErrorKind::Input, R"([{"type": "image_url", "image_url": {"url": "y"}}])",
          "a part of the type \"image_url\"");
  refused(ErrorKind::Input, "[]", "a content of 0 parts");
  refused(ErrorKind::Input, R"([{"type": 5}])", "a part of the type \"\"");
  refused(ErrorKind::Data, "5", "no \"content\" that is a text");
  refused(ErrorKind::Data, "null", "no \"content\" that is a text");
}

TEST_F(Tuning, RolesThatNobodyKnowsAreNamed) {
  const auto with = [&](const std::string& role) {
    return learnt(R"({"text": "the a"}
{"messages": [{"role": "user", "content": "x"}, {"role": ")" +
                  role + R"(", "content": "q"}, {"role": "assistant", "content": "y"}]})");
  };
  for (const char* role : {"bot", "", "function"}) {
    expect_error(ErrorKind::Input,
                 {"train.jsonl, line 2: message 2 has the role \"" + std::string(role) + "\"",
                  "neither Penstock nor the chat template knows", "system, user, assistant"},
                 [&] { (void)with(role); });
  }
  EXPECT_THAT(with("tool").second, testing::HasSubstr("2 lines in 2 rows"));
  // The template's own are its own; and what it passes over would be lost.
  write_file(files_ / "folder/chat_template.jinja",
             "{% for m in messages %}{% if m.role in ['user', 'assistant', 'bot'] %}{{ m.content }}"
             "{% endif %}{% endfor %}");
  EXPECT_THAT(with("bot").second, testing::HasSubstr("2 lines in 2 rows"));
  for (const char* role : {"system", "tool", "developer"}) {
    expect_error(ErrorKind::Input, {"line 2: message 2 has the role", "it would be lost"},
                 [&] { (void)with(role); });
  }
}

// Files as editors and shells of Windows write them, and two such files in a row.
TEST_F(Tuning, MarksBeforeLinesAreNoPartOfThem) {
  const std::string mark = "\xEF\xBB\xBF";
  const std::string line = R"({"text": "the a"})";
  const auto both = [&](const std::string& lines) { return learnt(lines); };
  const auto plain = both(line + "\n" + line + "\n");
  EXPECT_EQ(both(mark + line + "\n" + line + "\n"), plain);
  EXPECT_EQ(both(mark + "\n" + line + "\n" + line), plain);
  EXPECT_EQ(both(mark + "\r\n\r\n" + line + "\r\n" + line + "\r\n"), plain);
  EXPECT_EQ(both(mark + line + "\n" + mark + line + "\n"), plain);
  expect_error(ErrorKind::Data, {"train.jsonl, line 1", "UTF-16", "save it as UTF-8"},
               [&] { (void)both(std::string("\xFF\xFE{\0\"\0", 6)); });
  for (const std::string& wide :
       {std::string("\xFF\xFE\0\0{\0\0\0", 8), std::string("\0\0\xFE\xFF\0\0\0{", 8)}) {
    expect_error(ErrorKind::Data, {"train.jsonl, line 1", "UTF-32: save it as UTF-8"},
                 [&] { (void)both(wide); });
  }
}

// Schemas of tools nest; eight levels were too few for an object in a list of objects.
TEST_F(Tuning, ToolsNestAsSchemasDo) {
  write_file(files_ / "folder/chat_template.jinja",
             "{{ tools | tojson }}{% for m in messages %}{{ m.content }}{% endfor %}");
  std::string schema = R"({"type": "string"})";
  for (int i = 0; i < 8; ++i) schema = R"({"properties": {"a": )" + schema + "}}";
  const Datasets sets = open(R"({"tools": [{"function": {"parameters": )" + schema +
                                 R"(}}], "messages": [{"role": "user", "content": "x"}, )"
                                 R"({"role": "assistant", "content": "y"}]})",
                             400);
  const auto tokenizer = open_hub_tokenizer(kFolder);
  EXPECT_THAT(tokenizer->decode(read_text(*sets.train, 0).tokens), testing::HasSubstr(schema));
  expect_error(ErrorKind::Data, {"line 1", "nested too deeply"}, [&] {
    (void)open("{\"tools\": " + std::string(100, '[') + std::string(100, ']') + "}", 60);
  });
}

TEST_F(Tuning, LinesThatAreNoneAreNamed) {
  const auto refused = [&](ErrorKind kind, const std::string& line, const std::string& why) {
    expect_error(kind, {"train.jsonl, line 2", why},
                 [&] { (void)open("{\"text\": \"a\"}\n" + line + "\n", 8); });
  };
  refused(ErrorKind::Data, "{\"text\": ", "bad JSON");
  refused(ErrorKind::Data, "{'text': 'a'}", "(a line is one JSON object, as json.dumps()");
  refused(ErrorKind::Data, R"({"text": "a", "score": NaN})", "(NaN and Infinity are no JSON");
  refused(ErrorKind::Data, R"({"text": "a\"", "score": -Infinity})", "allow_nan=False");
  refused(ErrorKind::Data, R"({"text": "NaN \" NaN"; })", "(a line is one JSON object");
  refused(ErrorKind::Data, R"({"prompt": "a"})", "neither");
  refused(ErrorKind::Data, R"({"prompt": "a", "choices": ["b"], "answer": 1})", "answer");
  refused(ErrorKind::Data, R"({"prompt": "a", "choices": ["b", ""], "answer": 0})", "is empty");
  refused(ErrorKind::Data, R"({"messages": "a"})", "no list");
  refused(ErrorKind::Input,
          R"({"messages": [{"role": "user", "content": "a", "tool_calls": [{"id": "b"}]}]})",
          "tool_calls");
  refused(ErrorKind::Data, R"({"text": 5})", "text");
  refused(ErrorKind::Data, R"({"question": "a", "reply": "b"})", "\"question\" and \"reply\"");
  refused(ErrorKind::Input, R"({"text": "a", "messages": []})", "\"text\" and \"messages\"");
  refused(ErrorKind::Input, R"({"prompt": "x", "chosen": "a", "rejected": "b"})", "DPO");
  refused(ErrorKind::Input, R"({"prompt": "x", "completion": "b", "label": false})", "KTO");
  refused(ErrorKind::Input, R"({"prompt": "x", "completion": "b", "label": 0})", "KTO");
  refused(ErrorKind::Input, R"({"messages": [{"role": "user", "content": "a"}], "label": "bad"})",
          "KTO");
  refused(ErrorKind::Input, R"({"text": "x", "completion": "b"})", "\"text\" and \"completion\"");
  refused(ErrorKind::Input, R"({"prompt": "x", "completion": "a", "response": "b"})",
          "\"completion\" and \"response\"");
  refused(ErrorKind::Input,
          R"({"prompt": "x", "choices": ["a", "b"], "answer": 0, "response": "a"})",
          "\"response\" and \"choices\"");
  refused(ErrorKind::Input, R"({"text": "x", "tools": [{}]})", "tools");
  refused(ErrorKind::Data, R"({"prompt": "x", "completion": null})",
          "\"completion\" is not a text");
  refused(ErrorKind::Input, R"({"messages": [], "functions": [{}]})", "functions");
  refused(ErrorKind::Input, R"({"messages": [], "images": ["a.png"]})", "images");
  refused(ErrorKind::Input, R"({"messages": [], "system": "s"})", "the first of them");
  expect_error(ErrorKind::Data, {"train.jsonl is a Parquet file", "lines of JSON are read"},
               [&] { (void)open("PAR1\x15\x04", 8); });
  expect_error(ErrorKind::Data, {"train.jsonl, line 1", "a table (CSV)", "`read_csv("},
               [&] { (void)open("prompt,completion\nwhy,because\n", 8); });
  expect_error(ErrorKind::Data, {"train.jsonl", "has no end"},
               [&] { (void)open(R"([{"text": "a"},)", 8); });
  expect_error(ErrorKind::Data, {"train.jsonl", "behind the array"},
               [&] { (void)open("[{\"text\": \"a\"}]\n{}", 8); });
  expect_error(ErrorKind::Data, {"train.jsonl, element 2", "nothing behind the comma"},
               [&] { (void)open("[{\"text\": \"a\"},\n]", 8); });
  expect_error(ErrorKind::Data, {"train.jsonl, element 1", "ends with }"},
               [&] { (void)open(R"([{"text": "a"}})", 8); });
  expect_error(ErrorKind::Data, {"train.jsonl, element 2", "no"},
               [&] { (void)open(R"([{"text": "a"}, 5])", 8); });
  write_file(files_ / "folder/chat_template.jinja", "{{ raise_exception('never') }}");
  refused(ErrorKind::Input, R"({"messages": [{"role": "user", "content": "a"}]})", "never");
  config_.vocabulary.clear();
  expect_error(ErrorKind::Input, {"data.vocabulary"}, [&] { (void)open("{}", 8); });
}

}  // namespace
}  // namespace penstock::test
