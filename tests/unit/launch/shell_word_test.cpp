// Words of printed command lines: what a shell makes of them is what they were.
#include "launch/program/shell_word.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdio>

namespace penstock {
namespace {

std::string what_a_shell_makes_of(const std::string& word) {
  FILE* const shell = popen(("printf %s " + word).c_str(), "r");
  std::array<char, 256> text{};
  const size_t bytes = fread(text.data(), 1, text.size(), shell);
  EXPECT_EQ(pclose(shell), 0) << word;
  return {text.data(), bytes};
}

TEST(ShellWord, IsAsItIsWhereAShellLeavesItSo) {
  EXPECT_EQ(shell_word("runs/a-1/run.toml"), "runs/a-1/run.toml");
  EXPECT_EQ(shell_word("--data.train=x,y"), "--data.train=x,y");
}

TEST(ShellWord, ComesThroughAShell) {
  for (const std::string text :
       {"my runs/a", "it's", "$HOME", "~", "a;b", "a\\b", "*", "\"", "#", ""}) {
    EXPECT_EQ(what_a_shell_makes_of(shell_word(text)), text);
  }
}

}  // namespace
}  // namespace penstock
