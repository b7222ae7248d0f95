// launch/program/help/help.cpp -- see help.h.
#include "launch/program/help/help.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <sstream>

#include "kernels/error.h"
#include "kernels/suggest.h"
#include "launch/program/options/option_table.h"

namespace penstock {
namespace {

constexpr size_t kPageColumns = 100;

// Returns the text in lines of at most `width` columns, broken between words. Line breaks that the
// text has already stay.
std::vector<std::string> broken(const std::string& text, size_t width) {
  std::vector<std::string> lines;
  std::istringstream paragraphs(text);
  for (std::string paragraph; std::getline(paragraphs, paragraph);) {
    std::string line = paragraph.substr(0, paragraph.find_first_not_of(' '));  // the indentation
    bool is_empty = true;
    std::istringstream words(paragraph);
    for (std::string word; words >> word;) {
      if (!is_empty && line.size() + 1 + word.size() > width) {
        lines.push_back(line);
        line.clear();
        is_empty = true;
      }
      line += (is_empty ? "" : " ") + word;
      is_empty = false;
    }
    lines.push_back(line);
  }
  return lines;
}

// Returns what help shows on the left of an option, for example "--pipeline.stages K, --stages".
std::string left_column(const Option& option) {
  std::string text = "--" + option.name();
  if (!option.symbol.empty()) text += " " + option.symbol;
  if (!option.shorthand.empty()) text += ", --" + option.shorthand;
  return text;
}

std::string right_column(const Option& option) {
  std::string text = option.help;
  if (!option.limits.choices.empty()) {
    text += fmt::format(": {}", fmt::join(option.limits.choices, " | "));
    if (!option.limits.or_file.empty()) text += " | FILE" + option.limits.or_file;
  }
  const std::string value = text_of(default_of(option));
  return text + (value.empty() ? "" : fmt::format(" [{}]", value));
}

// Returns the sections of the option table, in its order.
std::vector<std::string> sections_of_keys() {
  std::vector<std::string> sections;
  for (const Option& option : option_table()) {
    if (sections.empty() || sections.back() != option.section) sections.push_back(option.section);
  }
  return sections;
}

}  // namespace

std::string help_rows(const std::vector<HelpRow>& rows) {
  constexpr size_t kWidest = 34;  // the widest left column
  size_t width = 0;
  for (const HelpRow& row : rows) {
    if (row.left.size() <= kWidest) width = std::max(width, row.left.size());
  }
  std::string text;
  for (const HelpRow& row : rows) {
    std::string left = row.left;
    if (left.size() > width) {
      text += fmt::format("  {}\n", left);
      left.clear();
    }
    for (const std::string& line : broken(row.right, kPageColumns - width - 4)) {
      text += fmt::format("  {:{}}  {}\n", left, width, line);
      left.clear();
    }
  }
  return text;
}

std::string keys_help() {
  std::vector<HelpRow> often;
  std::string sections;
  for (const Option& option : option_table()) {
    if (option.shorthand.empty()) continue;
    often.push_back({"--" + option.shorthand + " " + option.symbol, right_column(option)});
  }
  for (const std::string& section : sections_of_keys()) sections += section_help(section);
  return "\nChanged most often; all keys follow, by section (--help SECTION prints one alone)\n" +
         help_rows(often) + sections;
}

std::string section_help(const std::string& section) {
  std::vector<HelpRow> rows;
  for (const Option& option : option_table()) {
    if (option.section == section) rows.push_back({left_column(option), right_column(option)});
  }
  if (rows.empty()) {
    const std::vector<std::string> all = sections_of_keys();
    const std::string hint = did_you_mean(section, all);
    fail_input(fmt::format("--help {}: there is no such section of keys{}; there are {}", section,
                           hint, fmt::join(all, ", ")));
  }
  return fmt::format("\n[{}]\n{}", section, help_rows(rows));
}

}  // namespace penstock
