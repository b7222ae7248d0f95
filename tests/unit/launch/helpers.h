// tests/unit/launch/helpers.h -- run files and command lines given as text: the configurations that
// they make, and the error messages when they are refused.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "kernels/error.h"
#include "launch/program/options/command_line.h"
#include "launch/program/options/run_file.h"
#include "launch/program/options/settings.h"
#include "tests/support/temporary_folder.h"

namespace penstock {

// The message of the Error(Input) that `function` throws, which must be one line; fails the test
// when it throws none.
template <typename Function>
std::string input_error(Function&& function) {
  try {
    function();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::Input);
    EXPECT_EQ(error.what(), std::string(error.what()).substr(0, 600));
    EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos)
        << "one line: " << error.what();
    return error.what();
  }
  ADD_FAILURE() << "nothing was thrown";
  return "";
}

// The settings of a run file with this text.
inline Settings parsed(const std::string& text) {
  Settings settings;
  parse_run_file(text, "run.toml", settings);
  return settings;
}

inline std::string parse_error(const std::string& text) {
  return input_error([&] { (void)parsed(text); });
}

// The configuration that these arguments make, without a run file; and the message when they are
// refused.
inline Config configured(const std::vector<std::string>& arguments) {
  return read_settings(arguments, false).config;
}
inline std::string argument_error(const std::vector<std::string>& arguments) {
  return input_error([&] { (void)read_settings(arguments, false); });
}

}  // namespace penstock
