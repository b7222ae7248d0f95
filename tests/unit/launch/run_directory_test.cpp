// The run directory is made, holds the effective configuration, and no work of a person is lost.
#include "launch/program/run_directory.h"

#include <sstream>

#include "helpers.h"

namespace penstock {
namespace {

using ::testing::HasSubstr;

std::string text_in(const std::filesystem::path& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

TEST(RunDirectory, HoldsTheEffectiveConfiguration) {
  const Folder folder;
  Config config;
  config.run.out = folder.path() / "deep/er";
  config.pipeline.stages = 3;
  prepare_run_directory(config);
  EXPECT_EQ(text_in(folder.path() / "deep/er/run.toml"), write_run_file(config));
  config.pipeline.stages = 4;
  prepare_run_directory(config);  // its own may be replaced
  EXPECT_EQ(text_in(folder.path() / "deep/er/run.toml"), write_run_file(config));
}

// A run that ends early, or traces nothing, must not seem to have left what an earlier one did.
TEST(RunDirectory, ForgetsTheResultsOfAnEarlierRun) {
  const Folder folder;
  Config config;
  config.run.out = folder.path();
  const auto is_there = [&](const char* file) {
    return std::filesystem::exists(folder.path() / file);
  };
  for (const char* file : {"summary.json", "trace.json"}) (void)folder.write(file, "{}");
  prepare_run_directory(config);  // nobody says that these are of a run
  EXPECT_TRUE(is_there("summary.json") && is_there("trace.json"));
  (void)folder.write("checkpoints/x", "");
  prepare_run_directory(config);
  EXPECT_FALSE(is_there("summary.json") || is_there("trace.json"));
  EXPECT_TRUE(is_there("checkpoints/x"));
}

TEST(RunDirectory, KeepsARunFileThatAPersonWrote) {
  const Folder folder;
  folder.write("run.toml", "# mine\n");
  Config config;
  config.run.out = folder.path();
  EXPECT_THAT(input_error([&] { prepare_run_directory(config); }), HasSubstr("another --out"));
  EXPECT_EQ(text_in(folder.path() / "run.toml"), "# mine\n");
}

TEST(RunDirectory, AnImpossiblePlaceIsNamed) {
  const Folder folder;
  Config config;
  config.run.out = folder.write("file", "x");
  EXPECT_THROW(prepare_run_directory(config), Error);
  config.run.out = "";
  EXPECT_THAT(input_error([&] { prepare_run_directory(config); }), HasSubstr("run.out is empty"));
}

}  // namespace
}  // namespace penstock
