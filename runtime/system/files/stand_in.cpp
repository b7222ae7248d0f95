#include "runtime/system/files/stand_in.h"

#include <algorithm>

#include "kernels/error.h"

namespace penstock {
namespace {

char lower_letter(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

bool begins_like(std::string_view text, std::string_view with) {
  return text.size() >= with.size() &&
         std::equal(with.begin(), with.end(), text.begin(),
                    [](char a, char b) { return a == lower_letter(b); });
}

}  // namespace

void refuse_pointer(std::string_view beginning, const std::string& path) {
  if (beginning.starts_with("version https://git-lfs.github.com/spec/")) {
    fail_data(path +
              " is a pointer of git-lfs and not the file itself: run `git lfs pull` in its folder, "
              "or download the file");
  }
}

void refuse_stand_in(std::string_view beginning, const std::string& path) {
  refuse_pointer(beginning, path);
  const size_t text = beginning.find_first_not_of(" \t\r\n\xEF\xBB\xBF");
  if (text == std::string_view::npos) return;
  beginning.remove_prefix(text);
  if (begins_like(beginning, "<!doctype html") || begins_like(beginning, "<html")) {
    fail_data(path +
              " is a web page and not the file itself: download it again, and look at the page for "
              "the reason, such as a licence to be accepted first");
  }
}

// The mark of UTF-32 begins with that of UTF-16 where the lowest byte comes first.
void refuse_wide_text(std::string_view beginning, const std::string& where) {
  using namespace std::string_view_literals;
  const auto begins = [&](std::string_view mark) { return beginning.starts_with(mark); };
  if (begins("\xFF\xFE\0\0"sv) || begins("\0\0\xFE\xFF"sv)) {
    fail_data(where + ", byte 1: it is UTF-32: save it as UTF-8");
  }
  if (begins("\xFF\xFE"sv) || begins("\xFE\xFF"sv)) {
    fail_data(where + ", byte 1: it is UTF-16, as PowerShell writes files: save it as UTF-8");
  }
}

}  // namespace penstock
