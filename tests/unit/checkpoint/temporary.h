// tests/unit/checkpoint/temporary.h -- a directory that goes with its test, and bytes by hand.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <sstream>
#include <string>

#include "kernels/error.h"

namespace penstock {

class Temporary {
 public:
  Temporary() {
    std::string pattern =
        (std::filesystem::temp_directory_path() / "penstock-test-XXXXXX").string();
    if (mkdtemp(pattern.data()) == nullptr) fail_resource("cannot make " + pattern);
    path_ = pattern;
  }
  ~Temporary() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  Temporary(const Temporary&) = delete;
  Temporary& operator=(const Temporary&) = delete;
  [[nodiscard]] std::string operator/(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

inline std::string contents(const std::string& path) {
  const std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

inline void put(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
}

// What an Error of that kind says; fails the test when there is none.
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
