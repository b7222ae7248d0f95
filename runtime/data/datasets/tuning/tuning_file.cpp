#include "runtime/data/datasets/tuning/tuning_file.h"

#include "kernels/error.h"
#include "runtime/data/tokens/text_file.h"
#include "runtime/system/files/json.h"

namespace penstock {
namespace {

using Take = std::function<void(std::string_view line, const std::string& where)>;

constexpr std::string_view kBlanks = " \t\r\n";

// Cuts an array, which arrives in pieces, into the texts of its elements. The elements are not
// parsed.
class ArrayElements {
 public:
  ArrayElements(const std::string& path, const Take& take) : path_(path), take_(take) {}

  void add(std::string_view bytes) {
    for (const char c : bytes) add(c);
  }
  void end() const {
    if (depth_ != 0) fail_data(path_ + ": the array that it begins with has no end");
  }

 private:
  void add(char c) {
    if (ended_) {
      if (kBlanks.find(c) != std::string_view::npos) return;
      fail_data(path_ +
                ": something stands behind the array that it begins with: write one array, "
                "or one object a line");
    }
    if (in_text_) {
      in_text_ = escaped_ || c != '"';
      escaped_ = !escaped_ && c == '\\';
    } else if (c == '"') {
      in_text_ = true;
    } else if (c == '[' || c == '{') {
      if (++depth_ == 1) return;
    } else if (c == ']' || c == '}') {
      --depth_;
      ended_ = depth_ == 0;
      if (ended_ && c != ']') fail_data(where() + ": the array that it is in ends with }");
    }
    const bool parts = !in_text_ && depth_ == 1 && c == ',';
    if (parts || ended_) return element(parts);
    if (element_.size() >= kLongestLine) {
      fail_data(where() + " is longer than " + std::to_string(kLongestLine) + " bytes");
    }
    element_ += c;
  }
  [[nodiscard]] std::string where() const {
    return path_ + ", element " + std::to_string(number_ + 1);
  }
  // Ends an element. An empty element is refused, unless the array itself is empty.
  void element(bool another) {
    const bool blank = element_.find_first_not_of(kBlanks) == std::string::npos;
    if (blank && another) fail_data(where() + ": there is nothing before the comma");
    if (blank && number_ > 0) fail_data(where() + ": there is nothing behind the comma");
    if (!blank) take_(element_, where());
    ++number_;
    element_.clear();
  }

  const std::string& path_;
  const Take& take_;
  std::string element_;
  int64_t number_ = 0;
  int depth_ = 0;
  bool in_text_ = false, escaped_ = false, ended_ = false;
};

}  // namespace

bool for_each_tuning_line(const std::string& path, int64_t unpack_limit, const Take& take) {
  int64_t number = 0;
  const LineSplitter::Take take_line = [&](std::string_view line) {
    ++number;
    line = without_mark(line);
    if (line.find_first_not_of(kBlanks) == std::string_view::npos) return;
    take(line, path + ", line " + std::to_string(number));
  };
  LineSplitter lines(path, take_line);
  ArrayElements elements(path, take);
  char first = ' ';  // first character behind blanks and UTF-8's mark; ' ': none yet
  const auto add = [&](std::string_view bytes) {
    if (first == ' ') {
      const std::string_view rest = without_mark(bytes);
      const size_t at = rest.find_first_not_of(kBlanks);
      if (at != std::string_view::npos) first = rest[at];
      if (first == '[') bytes = rest.substr(at);
    }
    if (first == '[') {
      elements.add(bytes);
    } else {
      lines.add(bytes);
    }
  };
  read_pieces_of_file(path, add, unpack_limit);
  lines.end();
  elements.end();
  return first == '[';
}

}  // namespace penstock
