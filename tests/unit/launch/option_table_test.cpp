// The table is complete and consistent, and its values survive being written and read.
#include "launch/program/options/option_table.h"

#include <set>

#include "helpers.h"

namespace penstock {
namespace {

using ::testing::HasSubstr;

// A value of the option that is allowed and is not the default.
OptionValue another_value(const Option& option) {
  OptionValue value = default_of(option);
  if (auto* flag = std::get_if<bool>(&value)) *flag = !*flag;
  if (auto* integer = std::get_if<int64_t>(&value)) {
    *integer += 7;
    if (!is_allowed(option, value)) std::get<int64_t>(value) -= 14;  // of what is at its largest
  }
  if (auto* number = std::get_if<double>(&value)) {
    *number = *number / 3 + 1.0 / 7;
    if (!is_allowed(option, value)) std::get<double>(value) += 1;  // of what is at least 1
  }
  if (auto* text = std::get_if<std::string>(&value)) {
    const auto& choices = option.limits.choices;
    *text = choices.empty() ? "a \"quoted\\ text\"\t'\n\x01 \xC3\xA9" : choices.back();
    if (*text == std::get<std::string>(default_of(option))) *text = choices.front();
  }
  if (auto* list = std::get_if<std::vector<int64_t>>(&value)) *list = {1, 2, 3};
  if (auto* list = std::get_if<std::vector<double>>(&value)) *list = {0.1, 1e-300, 5.0};
  if (auto* list = std::get_if<std::vector<std::string>>(&value)) *list = {"a", "b,\"c\""};
  return value;
}

TEST(OptionTable, EveryKeySurvivesARunFile) {
  Config changed;
  for (const Option& option : option_table()) {
    const OptionValue value = another_value(option);
    ASSERT_TRUE(is_allowed(option, value)) << option.name();
    ASSERT_NE(value, default_of(option)) << option.name();
    option.set(changed, value);
    ASSERT_EQ(option.get(changed), value) << option.name();
  }
  const Config back = parsed(write_run_file(changed)).config;
  for (const Option& option : option_table()) {
    EXPECT_EQ(option.get(back), option.get(changed)) << option.name();
  }
  EXPECT_EQ(write_run_file(back), write_run_file(changed));
}

// toml++ put a text of several lines with ''' in it between ''', and the run could not be resumed.
TEST(OptionTable, TextsSurviveARunFileWhateverIsInThem) {
  std::string ascii;
  for (int c = 0; c < 128; ++c) ascii += static_cast<char>(c);
  for (const std::string& text : {std::string("a\n'''b"), std::string("\"\"\"\n\\x'"), ascii,
                                  std::string("\u00e9 \u20ac \u2028 \U0001f600\n'"),
                                  std::string("'"), std::string("'''\n'''"), std::string("\n")}) {
    Config config;
    config.data.validation = text;
    LayerConfig& layer = config.model.sequence.emplace_back();
    layer.kind = layer.name = text;
    layer.options.emplace("key" + text, text);
    const Config back = parsed(write_run_file(config)).config;
    EXPECT_EQ(back.data.validation, text);
    ASSERT_EQ(back.model.sequence.size(), 1U);
    EXPECT_EQ(back.model.sequence[0].kind, text);
    EXPECT_EQ(back.model.sequence[0].name, text);
    EXPECT_TRUE(back.model.sequence[0].options.contains("key" + text));
  }
}

TEST(OptionTable, DefaultsAreAllowedAndSurviveARunFile) {
  const Config back = parsed(write_run_file(Config{})).config;
  for (const Option& option : option_table()) {
    EXPECT_TRUE(is_allowed(option, default_of(option))) << option.name();
    EXPECT_EQ(option.get(back), default_of(option)) << option.name();
  }
}

// Two keys bound to one member would pass a round trip of equal values.
TEST(OptionTable, EveryKeyHasAMemberOfItsOwn) {
  for (const Option& changed : option_table()) {
    Config config;
    changed.set(config, another_value(changed));
    for (const Option& other : option_table()) {
      if (&other == &changed) continue;
      EXPECT_EQ(other.get(config), default_of(other))
          << changed.name() << " moves " << other.name();
    }
  }
}

TEST(OptionTable, NamesAndShorthandsAreUnique) {
  std::set<std::string> names;
  for (const Option& option : option_table()) {
    EXPECT_TRUE(names.insert(option.name()).second) << option.name();
    EXPECT_FALSE(option.help.empty()) << option.name();
    if (!option.shorthand.empty()) {
      EXPECT_TRUE(names.insert(option.shorthand).second) << option.shorthand;
    }
  }
}

TEST(OptionTable, HasTheShorthandsOfTheContract) {
  for (const char* shorthand : {"stages", "replicas", "micro-batches", "micro-batch-size",
                                "schedule", "recompute", "steps", "seed", "device", "out"}) {
    EXPECT_NE(find_shorthand(shorthand), nullptr) << shorthand;
  }
  EXPECT_EQ(find_shorthand(""), nullptr);
  EXPECT_EQ(find_option("pipeline"), nullptr);
}

TEST(OptionTable, RangesHoldAtTheirEnds) {
  const auto allows = [](const char* name, const OptionValue& value) {
    return is_allowed(*find_option(name), value);
  };
  EXPECT_TRUE(allows("pipeline.stages", int64_t{1}));
  EXPECT_FALSE(allows("pipeline.stages", int64_t{0}));
  EXPECT_FALSE(allows("pipeline.stages", int64_t{1} << 40));
  EXPECT_FALSE(allows("checkpoint.keep", int64_t{1} << 31));  // an int behind it
  EXPECT_TRUE(allows("model.dropout", 0.0));
  EXPECT_FALSE(allows("model.dropout", 1.0));
  EXPECT_FALSE(allows("optimizer.epsilon", 0.0));
  EXPECT_FALSE(allows("optimizer.learning_rate", std::numeric_limits<double>::quiet_NaN()));
  EXPECT_FALSE(allows("optimizer.learning_rate", std::numeric_limits<double>::infinity()));
  EXPECT_FALSE(allows("model.image", std::vector<int64_t>{3, 0, 32}));
  EXPECT_FALSE(allows("data.std", std::vector<double>{0.2, 0.0}));
}

TEST(OptionTable, SaysWhatIsAllowed) {
  EXPECT_EQ(allowed(*find_option("pipeline.schedule")),
            "one of gpipe, 1f1b, 1f1b-deep, interleaved-1f1b, looped-bfs, zb-h1, zb-h2, zb-v, "
            "v-half, v-min, dualpipev, searched or a .csv file");
  EXPECT_EQ(allowed(*find_option("pipeline.stages")), "an integer from 1 to 65536");
  EXPECT_EQ(allowed(*find_option("model.dropout")), "a number from 0 to below 1");
  EXPECT_EQ(allowed(*find_option("optimizer.epsilon")), "a number > 0");
  EXPECT_EQ(allowed(*find_option("data.flip")), "true or false");
  EXPECT_THAT(allowed(*find_option("model.image")), HasSubstr("a list of integers"));
}

}  // namespace
}  // namespace penstock
