// The table of commands is what parser, --help, manual page and completion say.
#include "launch/program/help/help.h"

#include <boost/program_options.hpp>
#include <regex>
#include <sstream>

#include "helpers.h"
#include "kernels/device_model.h"
#include "launch/program/commands/command_table.h"
#include "launch/program/help/flag.h"
#include "launch/program/help/manual.h"
#include "launch/program/options/option_table.h"

namespace penstock {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

// The help without the line breaks of its right column.
std::string joined(const std::string& help) {
  return std::regex_replace(help, std::regex("\\s+"), " ");
}

TEST(Help, ListsEveryKeyWithShorthandAndDefault) {
  const std::string help = joined(keys_help());
  for (const Option& option : option_table()) {
    EXPECT_THAT(help, HasSubstr("--" + option.name()));
    EXPECT_THAT(help, HasSubstr(joined(option.help)));
    EXPECT_THAT(help, HasSubstr("--" + option.shorthand));
  }
  EXPECT_THAT(help, AllOf(HasSubstr("[1f1b]"), HasSubstr("gpipe | 1f1b")));
}

TEST(Help, OfOneSectionIsThatAlone) {
  const std::string all = keys_help();
  std::string sections;
  for (const char* name :
       {"model", "lora", "data", "optimizer", "pipeline", "init", "checkpoint", "run"}) {
    const std::string one = section_help(name);
    EXPECT_THAT(one, StartsWith(std::string("\n[") + name + "]\n  --" + name + "."));
    EXPECT_THAT(all, HasSubstr(one));
    sections += one;
  }
  EXPECT_THAT(all, testing::EndsWith(sections)) << "and there is no other";
  EXPECT_THAT(all, StartsWith("\nChanged most often"));
  EXPECT_THAT(all.substr(0, all.find("\n[")), HasSubstr("\n  --stages K"));
  EXPECT_THAT(input_error([] { (void)section_help("pipelin"); }),
              AllOf(HasSubstr("did you mean 'pipeline'"), HasSubstr("model, lora, data")));
}

TEST(Help, OfEveryCommandFitsAHundredColumns) {
  std::string all = general_help();
  for (const Command& command : command_table()) {
    const CommandForm& form = command.form();
    EXPECT_THAT(general_help(),
                HasSubstr("\n  " + form.name + (form.operand.empty() ? " " : " " + form.operand)));
    const std::string help = help_of(command);
    EXPECT_THAT(help, HasSubstr("penstock " + form.name));
    const CommandOptions options = own_options(command.form());
    for (const auto& option : options.options()) {
      EXPECT_THAT(help, HasSubstr("\n  --" + option->long_name() + " ")) << form.name;
      EXPECT_FALSE(option->description().empty()) << option->long_name();
    }
    all += help;
  }
  std::istringstream lines(all);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 100U) << line;
}

TEST(Help, IsAlsoAManualPageAndACompletion) {
  const std::string page = manual_page();
  const std::string completion = bash_completion();
  EXPECT_THAT(page, StartsWith(".TH PENSTOCK 1"));
  for (const Command& command : command_table()) {
    EXPECT_THAT(page, HasSubstr(".SS penstock " + command.form().name));
    EXPECT_THAT(completion, HasSubstr("\n    " + command.form().name + ") words="));
  }
  EXPECT_THAT(page, HasSubstr("\\-\\-pipeline.stages"));
  EXPECT_THAT(completion, HasSubstr(" --pipeline.stages --stages "));
}

// They once knew keys of the run file only, and sent everybody to the help of train.
TEST(CommandForm, UnknownOptionsNameTheirNeighbourAmongTheCommandsOwnToo) {
  std::string dir;
  CommandOptions options;
  options.add_options()("top-k", boost::program_options::value(&dir)->value_name("K"), "which");
  const CommandForm form{.name = "generate", .summary = "", .about = ""};
  const auto refused = [&](const std::string& option) {
    return input_error([&] { (void)read_options(form, options, {"r.toml", option, "3"}); });
  };
  EXPECT_EQ(refused("--top_k"), "unknown option '--top_k'; did you mean '--top-k'?");
  EXPECT_EQ(refused("--stagse"), "unknown option '--stagse'; did you mean '--stages'?");
  EXPECT_EQ(refused("--micro_batches=3"),
            "unknown option '--micro_batches'; write '--pipeline.micro_batches'");
  EXPECT_EQ(refused("--qqqqqqqqqqqqqqqq"),
            "unknown option '--qqqqqqqqqqqqqqqq'; `penstock generate --help` lists those of the "
            "command, `penstock train --help` those of the run file");
  EXPECT_EQ(read_options(form, options, {"--stages", "2"}),
            (std::vector<std::string>{"--stages", "2"}));
}

TEST(CommandForm, EveryOptionTakesItsValueBehindASpaceOrAnEqualsSign) {
  std::string dir;
  bool json = false;
  CommandOptions options;
  namespace po = boost::program_options;
  options.add_options()("checkpoint", po::value(&dir)->value_name("DIR"), "which")(
      "json", flag(json), "for programs");
  const CommandForm form{.name = "eval", .summary = "", .about = ""};
  using Texts = std::vector<std::string>;
  EXPECT_EQ(read_options(form, options, {"r.toml", "--checkpoint=a", "--json", "--seed", "3"}),
            (Texts{"r.toml", "--seed", "3"}));
  EXPECT_EQ(dir + (json ? " json" : ""), "a json");
  EXPECT_EQ(read_options(form, options, {"--checkpoint", "b", "--stages=2"}), Texts{"--stages=2"});
  EXPECT_EQ(dir, "b");
  EXPECT_EQ(read_options(form, options, {"--data.validation=", "--stages=2"}),
            (Texts{"--data.validation", "", "--stages=2"}))
      << "an empty value empties a key";
  EXPECT_THAT(input_error([&] { (void)read_options(form, options, {"--checkpoint="}); }),
              HasSubstr("--checkpoint"));
  EXPECT_EQ(read_options(form, options, {"--json=0", "r.toml"}), Texts{"r.toml"});
  EXPECT_FALSE(json);
  EXPECT_THAT(input_error([&] { (void)read_options(form, options, {"--checkpoint"}); }),
              AllOf(StartsWith("eval: "), HasSubstr("--checkpoint"), HasSubstr("eval --help")));
  const CommandForm closed{.name = "schedule", .summary = "", .about = "", .takes_keys = false};
  EXPECT_THAT(input_error([&] {
                (void)read_options(closed, options, {"--checkpont", "b"});
              }),
              HasSubstr("did you mean '--checkpoint'"));
}

// What the help offers is what device_model_named() knows.
TEST(Help, OfPlanNamesEveryDeviceModel) {
  const std::string refusal = input_error([] { (void)device_model_named("none"); });
  std::istringstream known(refusal.substr(refusal.find("known are ") + 10));
  const std::string help = joined(help_of(*find_command("plan")));
  int names = 0;
  for (std::string name; std::getline(known >> std::ws, name, ',');) {
    EXPECT_THAT(help, HasSubstr(" " + name + " ")) << name;
    ++names;
  }
  EXPECT_GE(names, 8);
}

}  // namespace
}  // namespace penstock
