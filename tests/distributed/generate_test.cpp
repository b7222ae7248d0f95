// Text from trained networks: the same on any number of stages, and what its users meet.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/distributed/job.h"
#include "tests/distributed/tuned.h"
#include "tests/support/temporary_folder.h"

namespace penstock {
namespace {

using testing::HasSubstr;

constexpr const char* kSmall = R"([model]
kind = "transformer-lm"
layers = 3
width = 32
heads = 2
context = 16
[data]
kind = "text"
[optimizer]
kind = "adamw"
learning_rate = 1e-2
[pipeline]
micro_batches = 3
micro_batch_size = 2
[run]
steps = 80
threads = 1
seed = 5
)";

std::string alphabet(int lines) {
  std::string text;
  for (int i = 0; i < lines; ++i) text += "abcdefghijklm\n";
  return text;
}

// Words of two letters, no order to them: a network of it hesitates, and draws decide.
std::string babble(int words) {
  std::string text;
  uint32_t state = 1;
  for (int i = 0; i < words; ++i) {
    state = state * 1664525U + 1013904223U;
    text += static_cast<char>('a' + (state >> 24) % 7);
    text += static_cast<char>('p' + (state >> 16) % 5);
    text += i % 6 == 5 ? '\n' : ' ';
  }
  return text;
}

class Generation : public testing::Test {
 protected:
  void learn(const std::string& text, const std::string& options = "") {
    const std::string file = scratch_.write("run.toml", kSmall);
    const JobResult job =
        run_penstock(1, "train " + file + " --data.train " + scratch_.write("text", text) +
                            " --overwrite --out " + scratch_ / "run" + " " + options);
    ASSERT_EQ(job.exit_code, 0) << job.output;
  }
  JobResult run(int ranks, const std::string& options) {
    return run_penstock(ranks, "generate " + scratch_ / "run/run.toml " + options, 60);
  }
  // What goes to standard output.
  std::string text(int ranks, const std::string& options) {
    const std::string errors = scratch_ / "errors";
    std::string out = run(ranks, options + " 2>" + errors + " | cat").output;
    EXPECT_THAT(read_file(errors), testing::Not(HasSubstr("error"))) << options;
    return out;
  }
  void refused(const std::string& options, const std::string& says, int exit_code = 2) {
    const JobResult job = run(2, "--stages 2 " + options);
    EXPECT_EQ(job.exit_code, exit_code) << options << "\n" << job.output;
    EXPECT_THAT(job.output, HasSubstr("penstock: error: "));
    EXPECT_THAT(job.output, HasSubstr(says));
  }
  TemporaryFolder scratch_;
};

TEST_F(Generation, SaysWhatItLearnt) {
  learn(alphabet(100));
  EXPECT_EQ(text(1, "--prompt abc --tokens 14 --temperature 0"), "abcdefghijklm\nabc\n");
  EXPECT_EQ(text(2, "--prompt hi --prompt b --tokens 3 --temperature 0"), "hijkl\n----\nbcde\n")
      << "trained on one rank, used on two";
  EXPECT_EQ(text(1, "--prompt '' --tokens 5 --temperature 0"), "abcde\n") << "as after a line";
  // The window slides: context is 16.
  EXPECT_EQ(text(1, "--prompt k --tokens 45 --temperature 0"),
            "klm\n" + alphabet(3).substr(0, 42) + "\n");
  EXPECT_EQ(text(1, "--prompt 'defghijklm\nabcdefghijklm\nab' --tokens 4 --temperature 0"),
            "defghijklm\nabcdefghijklm\nabcdef\n");
  EXPECT_EQ(text(1, "--prompt abc --tokens 0"), "abc\n");
  EXPECT_EQ(text(1, "--tokens 3 < /dev/null"), "");
  // The run directory is enough, wherever it is.
  std::filesystem::remove(scratch_ / "text");
  std::filesystem::rename(scratch_ / "run", scratch_ / "moved");
  std::filesystem::create_directory_symlink("moved", scratch_ / "run");
  EXPECT_EQ(text(1, "--prompt abc --tokens 3 --temperature 0"), "abcdef\n");
  const JobResult plan = run_alone("plan " + scratch_ / "moved" + " --ranks 2");
  EXPECT_EQ(plan.exit_code, 0) << plan.output;
  const JobResult eval = run_alone("eval " + scratch_ / "moved" + " --data.validation " +
                                   scratch_.write("other", alphabet(4)));
  EXPECT_THAT(eval.output, HasSubstr("moved/checkpoints/step-00000080: 55 targets, loss 0."));
}

// Five prompts, three samples of each, in rounds of six rows, of which the last has three.
TEST_F(Generation, IsTheSameOnAnyNumberOfStages) {
  learn(babble(600));
  const std::string how = "--samples 3 --tokens 25 --temperature 0.9 --top-k 9 --top-p 0.97 < " +
                          scratch_.write("prompts", "ap bq\n\nc\nd\nfr gs ap bq dr\n");
  const std::string one = text(1, how);
  EXPECT_EQ(std::ranges::count(one, '-'), 14 * 4) << one;
  EXPECT_EQ(text(1, how), one);
  EXPECT_EQ(text(2, "--stages 2 " + how), one);
  EXPECT_EQ(text(4, "--stages 4 " + how), one);
  EXPECT_EQ(text(2, "--stages 4 --schedule interleaved-1f1b " + how), one);
  EXPECT_EQ(text(2, "--replicas 2 " + how), one);
  EXPECT_EQ(text(1, "--micro-batches 1 " + how), one);
  EXPECT_NE(text(1, "--seed 6 " + how), one);
  for (const char* stages : {"1", "2", "4"}) {
    EXPECT_EQ(text(std::stoi(stages), std::string("--cache off --stages ") + stages + " " + how),
              one);
  }
  // The first samples of the first prompt, alone.
  const std::string alone =
      text(1, "--samples 3 --tokens 25 --temperature 0.9 --top-k 9 --top-p 0.97 --prompt 'ap bq'");
  EXPECT_EQ(one.substr(0, alone.size()), alone);
  const size_t half = alone.find("----\n");
  EXPECT_NE(alone.substr(0, half), alone.substr(half + 5, half)) << "samples differ";
}

// Rotary positions before the cache, one head of keys in it, and a window over it; words slide out
// of the context too.
TEST_F(Generation, OfADecoderIsThatOfWholeRows) {
  learn(alphabet(100),
        "--model.kind decoder --model.kv_heads 1 --model.positions rotary --model.norm rms "
        "--model.gated --model.activation silu --model.window 9 --model.window_layers 1 "
        "--model.query_key_norm --model.tied_embedding");
  EXPECT_EQ(text(1, "--prompt abc --tokens 14 --temperature 0"), "abcdefghijklm\nabc\n");
  const std::string how = "--tokens 40 --temperature 1.5 --prompt k --prompt 'ab'";
  const std::string one = text(1, how);
  EXPECT_EQ(text(2, "--stages 2 " + how), one);
  EXPECT_EQ(text(2, "--stages 2 --cache off " + how), one);
}

TEST_F(Generation, WritesWordPieces) {
  // A network may have more outputs than there are pieces: those are never chosen.
  learn(babble(900),
        "--data.tokenizer sentencepiece --data.vocabulary_size 280 --steps 1 "
        "--optimizer.learning_rate 1e-9 --model.vocabulary 9000");
  EXPECT_GT(text(1, "--prompt a --tokens 40").size(), 30U);
  learn(babble(900), "--data.tokenizer sentencepiece --data.vocabulary_size 280");
  const std::string how = "--prompt 'ap  bq' --prompt 'dr\nes' --samples 2 --tokens 12";
  const std::string one = text(1, how);
  EXPECT_THAT(one, testing::StartsWith("ap  bq"));
  EXPECT_THAT(one, HasSubstr("----\ndr\nes"));
  EXPECT_EQ(text(2, "--stages 2 " + how), one);
}

// tests/distributed/tuned, a folder that has learnt to end its answers.
class GenerationOfAFolder : public testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::copy(PENSTOCK_TUNED, folder_);
    says(R"({"do_sample": false})");
  }
  void says(const std::string& json) { (void)scratch_.write("model/generation_config.json", json); }
  // What goes to standard output; errors_ has the rest.
  std::string text(int ranks, const std::string& options) {
    const std::string command =
        "generate --model.from " + folder_ + " --model.context 48 " + options + " 2>" + errors_;
    return (ranks == 1 ? run_alone(command + " | cat") : run_penstock(ranks, command + " | cat"))
        .output;
  }
  TemporaryFolder scratch_;
  std::string folder_ = scratch_ / "model";
  std::string errors_ = scratch_ / "errors";
};

// It once wrote "After one comes two. three. four. ..." to the last of the tokens asked for.
TEST_F(GenerationOfAFolder, EndsATextWhereTheTokenizerSaysThatTextsEnd) {
  EXPECT_EQ(text(1, "--prompt 'After one comes'"), "After one comes two.\n");
  EXPECT_EQ(text(1, "--prompt 'After one comes' --keep-special"), "After one comes two.<|end|>\n");
  const std::string many =
      "--micro-batch-size 2 --prompt 'After one comes' --prompt 'After six comes' --prompt "
      "'After nine comes' --prompt 'After two comes' --prompt 'After ten comes'";
  const std::string wanted =
      "After one comes two.\n----\nAfter six comes seven.\n----\nAfter nine comes ten.\n----\n"
      "After two comes three.\n----\nAfter ten comes eleven.\n";
  EXPECT_EQ(text(1, many), wanted);
  EXPECT_EQ(text(3, many), wanted);
  EXPECT_EQ(text(2, "--replicas 2 " + many), wanted);
  EXPECT_EQ(text(1, "--cache off " + many), wanted);
}

// 46 is the point: one id or several.
TEST_F(GenerationOfAFolder, EndsATextWhereTheFolderSaysAndSaysSo) {
  const auto point = [&] {
    const auto vocabulary = nlohmann::json::parse(read_file(folder_ + "/tokenizer.json"));
    return vocabulary.at("model").at("vocab").at(".").get<int>();
  }();
  for (const std::string& ends : {std::to_string(point), "[0, " + std::to_string(point) + "]"}) {
    says("{\"temperature\": 0.0, \"top_k\": 3, \"eos_token_id\": " + ends + "}");
    EXPECT_EQ(text(1, "--prompt 'After one comes'"), "After one comes two\n");
    EXPECT_EQ(text(1, "--prompt 'After one comes' --keep-special"), "After one comes two.\n");
    const std::string said = read_file(errors_);
    EXPECT_THAT(said, HasSubstr("model/generation_config.json says: temperature 0, top-k 3; a text "
                                "also ends with token " +
                                std::to_string(point) + " (.)\n"));
  }
  EXPECT_EQ(text(1, "--temperature 0 --top-k 2 --prompt 'After one comes'"),
            "After one comes two\n");
  EXPECT_THAT(read_file(errors_), HasSubstr("says: a text also ends"));
}

TEST_F(GenerationOfAFolder, FollowsOrNamesWhatItSays) {
  says(R"({"do_sample": false, "max_new_tokens": 1, "stop_strings": ["ore"], "num_beams": 4,
           "eos_token_id": 100000})");
  EXPECT_EQ(text(2, "--prompt 'After one comes' --prompt 'After three comes'"),
            "After one comes two\n----\nAfter three comes four\n");
  const std::string said = read_file(errors_);
  EXPECT_THAT(said, HasSubstr("generation_config.json says: tokens 1, temperature 0; a text also "
                              "ends before \"ore\"; no text can end with token 100000, since "));
  EXPECT_THAT(said, HasSubstr("also says what is not followed: num_beams 4\n"));
  says(R"({"do_sample": false, "stop_strings": "wo"})");
  EXPECT_EQ(text(1, "--prompt 'After one comes' --stop nothing"), "After one comes t\n");
  says(R"({"top_k": 2.5})");
  EXPECT_EQ(text(1, "--prompt 'After one comes'"), "");
  EXPECT_THAT(read_file(errors_), HasSubstr("generation_config.json: \"top_k\" must be a whole"));
}

TEST_F(GenerationOfAFolder, TellsWhatPromptsLose) {
  std::string numbers;
  for (int i = 0; i < 40; ++i) numbers += "one two ";
  (void)text(1, "--prompt one --tokens 1 --prompt '" + numbers + "'");
  EXPECT_THAT(read_file(errors_), HasSubstr("warning: prompt 2 has "));
  EXPECT_THAT(read_file(errors_), HasSubstr("of which the network sees the last model.context = "
                                            "48\n"));
  (void)text(1, "--tokens 1 < " + scratch_.write("bytes", "one\ncaf\xE9\n"));
  EXPECT_THAT(read_file(errors_), HasSubstr("warning: prompt 2 has bytes that are no UTF-8"));
  EXPECT_THAT(read_file(errors_), testing::Not(HasSubstr("prompt 1 ")));
  const std::string of_another = scratch_.write("lines",
                                                "\xEF\xBB\xBF"
                                                "After one comes\r\nAfter two comes\r\n");
  EXPECT_EQ(text(2, "< " + of_another), "After one comes two.\n----\nAfter two comes three.\n");
  EXPECT_THAT(read_file(errors_), HasSubstr("note: standard input without its byte order mark"));
}

TEST_F(GenerationOfAFolder, EndsATextBeforeWordsOfTheUser) {
  EXPECT_EQ(text(1, "--prompt 'After one comes' --stop wo --stop nothing"), "After one comes t\n");
  EXPECT_EQ(text(2, "--prompt 'After one comes' --stop After"), "After one comes two.\n")
      << "a prompt may have them";
  EXPECT_EQ(text(1, "--prompt 'After one comes' --stop ''"), "");
  EXPECT_THAT(read_file(errors_), HasSubstr("--stop needs the text"));
}

// The penalty is so large that only words which are not there yet are left.
TEST_F(GenerationOfAFolder, MakesLessProbableWhatIsThere) {
  says(R"({"do_sample": false, "repetition_penalty": 1e6})");
  const std::string prompt = "two. After two comes three. After two comes";
  const std::string how = "--tokens 12 --prompt '" + prompt + "' ";
  EXPECT_EQ(text(1, how), prompt + " fourteen six one seven eight five\n");
  EXPECT_THAT(read_file(errors_), HasSubstr("temperature 0, repetition penalty 1000000\n"));
  EXPECT_EQ(text(3, how), prompt + " fourteen six one seven eight five\n");
  EXPECT_EQ(text(1, how + "--repetition-penalty 1"), prompt + " fourteen six one seven seven.\n");
}

// The template of the folder writes <|user|>...<|end|><|assistant|>, and of an answer ...<|end|>.
TEST_F(GenerationOfAFolder, AnswersInAConversation) {
  // What stands behind a prompt that is the conversation itself.
  const auto answer_to = [&](const std::string& written) {
    const std::string all = text(1, "--keep-special --tokens 12 --prompt '" + written + "'");
    EXPECT_TRUE(all.starts_with(written)) << all;
    const std::string answer = all.substr(std::min(written.size(), all.size()));
    return answer.substr(0, answer.find("<|end|>")) + "\n";
  };
  const std::string one = answer_to("<|user|>After one comes<|end|><|assistant|>");
  const std::string two =
      answer_to("<|system|>Count.<|end|><|user|>After two comes<|end|><|assistant|>");
  const std::string how = "--chat --tokens 12 ";
  EXPECT_EQ(text(1, how + "--prompt 'After one comes'"), one);
  EXPECT_EQ(text(3, how + "--prompt 'After one comes'"), one);
  EXPECT_EQ(text(1, how + "< " + scratch_.write("lines", "After one comes\n")), one);
  EXPECT_EQ(text(1, how + "--system Count. --prompt 'After two comes'"), two);
  const std::string user = R"({"role": "user", "content": "After two comes"})";
  const std::string list = R"([{"role": "system", "content": "Count."}, )" + user + "]";
  const std::string mark = "\xEF\xBB\xBF";  // as editors of Windows write it
  for (const std::string& json : {list, R"({"messages": )" + list + "}", mark + list,
                                  mark + R"({"messages": )" + list + "}"}) {
    const std::string file = scratch_.write("messages.json", json);
    EXPECT_EQ(text(1, how + "--messages " + file), two) << json;
    EXPECT_EQ(text(2, how + "--messages " + file), two) << json;
  }
  const std::string human =
      scratch_.write("human.json", R"([{"role": "System", "content": "Count."},
                        {"role": "human", "content": "After two comes"}])");
  EXPECT_EQ(text(1, how + "--messages " + human), two);
  EXPECT_THAT(read_file(errors_), HasSubstr("roles are called system, user and assistant"));
  const std::string alone = scratch_.write("alone.json", "[" + user + "]");
  EXPECT_EQ(text(1, how + "--system Count. --messages " + alone + " --messages " + alone),
            two + "----\n" + two);
}

// transformers adds what the vocabulary lacks behind it, here further than the embedding goes.
TEST_F(GenerationOfAFolder, RefusesATokenThatTheNetworkHasNoRowFor) {
  const auto rows =
      nlohmann::json::parse(read_file(folder_ + "/config.json")).at("vocab_size").get<size_t>();
  auto settings = nlohmann::json::parse(read_file(folder_ + "/tokenizer_config.json"));
  const auto add = [&](size_t tokens) {
    auto& list = settings["extra_special_tokens"] = nlohmann::json::array();
    while (list.size() < tokens) list.push_back("<|" + std::to_string(list.size()) + "|>");
    (void)scratch_.write("model/tokenizer_config.json", settings.dump());
  };
  add(1);
  EXPECT_EQ(text(1, "--prompt 'After one comes'"), "After one comes two.\n") << "which has a row";
  add(rows);
  const std::string train = scratch_.write("train.jsonl", R"({"text": "After one comes two."})");
  for (const std::string& command : {std::string("generate --prompt 'After one comes'"),
                                     "train --data.kind jsonl --data.train " + train}) {
    const JobResult job = run_alone(command + " --model.context 48 --model.from " + folder_ +
                                    " --out " + scratch_ / "out");
    EXPECT_EQ(job.exit_code, 2) << job.output;
    EXPECT_THAT(job.output, testing::AllOf(HasSubstr("has no row for \"<|"),
                                           HasSubstr(", id " + std::to_string(rows) + ". Give"),
                                           HasSubstr("tokenizer_config.json")));
  }
}

// A folder need not name what ends a turn: the template does.
TEST_F(GenerationOfAFolder, EndsATurnAsItsTemplateDoes) {
  auto settings = nlohmann::json::parse(read_file(folder_ + "/tokenizer_config.json"));
  const std::string answer = text(1, "--chat --prompt 'After one comes' --keep-special");
  EXPECT_TRUE(answer.ends_with("<|end|>\n")) << answer;
  settings["eos_token"] = "<|user|>";
  (void)scratch_.write("model/tokenizer_config.json", settings.dump());
  EXPECT_EQ(text(1, "--chat --prompt 'After one comes' --keep-special"), answer);
}

// Each turn on a terminal knows those before.
TEST_F(GenerationOfAFolder, ConversesOnATerminal) {
  const std::string first = text(1, "--chat --prompt 'After one comes'");
  const std::string said = first.substr(0, first.size() - 1);
  const std::string turns = scratch_.write(
      "turns.json", nlohmann::json{{{"role", "user"}, {"content", "After one comes"}},
                                   {{"role", "assistant"}, {"content", said}},
                                   {{"role", "user"}, {"content", "After two comes"}}}
                        .dump());
  const std::string second = text(1, "--chat --messages " + turns);
  const JobResult job = run_words(
      "printf 'After one comes\\nAfter two comes\\n\\004' | script -qec '" + penstock_program() +
          " generate --chat --model.context 48 "
          "--model.from " +
          folder_ + "' /dev/null | tr -d '\\r'",
      60);
  EXPECT_THAT(job.output, HasSubstr("> " + first + "> " + second + "> "));
}

TEST_F(GenerationOfAFolder, RefusesWhatIsNoConversation) {
  const auto refused = [&](const std::string& options, const std::string& says) {
    EXPECT_EQ(text(1, options), "");
    EXPECT_THAT(read_file(errors_), HasSubstr(says));
  };
  const auto file = [&](const std::string& json) {
    return "--chat --messages " + scratch_.write("bad.json", json);
  };
  refused("--system x --prompt y", "add --chat");
  refused("--prompt y " + file("[]"), "leave one out");
  refused(file("[]"), "bad.json has no list of \"messages\"");
  refused(file(R"([{"role": "user"}])"), "bad.json: message 1 has no \"content\"");
  refused(file(R"([{"role": "user", "content": "x", "tool_calls": [{"id": "b"}]}])"),
          "\"tool_calls\"");
  refused(file(R"([{"role": "assistant", "content": "x"}])"), "nothing to answer");
  refused(file(R"([{"role": "gpt", "content": "x"}])"), "nothing to answer");
  refused(file(R"([{"role": "bot", "content": "x"}, {"role": "user", "content": "x"}])"),
          "bad.json: message 1 has the role \"bot\", which neither Penstock nor");
  refused(file(R"({"messages": [{"role": "user", "content": "x"}], "tools": [{}]})"),
          "bad.json has \"tools\" beside the messages");
  refused("--system a " +
              file(R"([{"role": "system", "content": "x"}, {"role": "user", "content": ""}])"),
          "--system is another");
  (void)scratch_.write("model/tokenizer_config.json", R"({"eos_token": "<|end|>"})");
  refused("--chat --prompt x", "model has no chat template");
}

TEST_F(Generation, RefusesWhatMakesNoSense) {
  learn(alphabet(30), "--steps 1 --model.vocabulary 128");
  refused("--prompt 'caf\xC3\xA9'", "'\xC3\xA9'");
  refused("--prompt a --tokens -1", "--tokens");
  refused("--prompt a --tokens many", "--tokens");
  refused("--prompt a --samples 0", "--samples");
  refused("--prompt a --temperature -1", "--temperature");
  refused("--prompt a --top-p 0", "--top-p");
  refused("--prompt a --beam 4", "--beam");
  refused("--prompt a --cache maybe", "--cache");
  refused("--prompt a --run.eval_batch 1000000000", "--cache off", 3);
  refused("--prompt", "--prompt needs a value");
  refused("--prompt a --data.kind tokens", "data.kind is tokens");
  refused("--prompt a --checkpoint " + scratch_ / "none", "none");
}

}  // namespace
}  // namespace penstock
