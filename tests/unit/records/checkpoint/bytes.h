// tests/unit/records/checkpoint/bytes.h -- reads and writes whole files, and gives the messages of
// errors.
#pragma once

#include <gtest/gtest.h>

#include <fstream>
#include <functional>
#include <sstream>
#include <string>

#include "kernels/error.h"
#include "tests/support/temporary_folder.h"

namespace penstock {

inline std::string contents(const std::string& path) {
  const std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

inline void put(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
}

// The message of the Error that `action` throws; fails the test when it throws none, or one of
// another kind.
inline std::string refusal(ErrorKind kind, const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), kind) << error.what();
    return error.what();
  }
  ADD_FAILURE() << "accepted";
  return "";
}

}  // namespace penstock
