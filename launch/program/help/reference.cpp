#include "launch/program/help/reference.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "launch/program/options/option_table.h"

namespace penstock {
namespace {

constexpr const char* kTop = R"(# The run file

A run is one TOML file. Every key below can also be given on the command line, as `--section.key value` or `--section.key=value`, and then wins over the file; keys with a
short form have that as well. Flags may stand alone on the command line (`--data.flip`), and lists are written `3,5` there and `[3, 5]` in the file. A key that does not exist, and
a value that does not fit, is refused in one line that names file, line and key.

A key that the run does not read, since it is for another kind of network, data or optimizer, or for something that is switched off, is refused likewise, unless it has its default:
`'model.experts' is read only where model.kind is decoder, and here model.kind is transformer-lm`. What the command line switches off may stay in the file, where the file by itself reads it.
A network of one's own may read all of `[model]`.

Paths of what is read are relative to the run file, then to the working directory; on the command line, and `run.out` and `run.resume` wherever they are given, to the working directory alone. TOML holds UTF-8 alone: a byte 0xE9 of a path that is not is written `"\U0010FEE9"` here, with the byte at the end, and as it is on the command line. This page is made from the table of options by `penstock help run-file`, and a test keeps the two equal;
`penstock train --help` prints the same table.
)";

// Returns the text as a cell of a table. A bar is escaped, because it would end the cell.
std::string cell(const std::string& text) {
  std::string result;
  for (const char c : text) {
    if (c == '|') result += '\\';
    result += c;
  }
  return result;
}

std::string value_cell(const Option& option) {
  if (!option.limits.choices.empty()) {
    std::string text = fmt::format("`{}`", fmt::join(option.limits.choices, "` `"));
    if (!option.limits.or_file.empty()) text += fmt::format(" `FILE{}`", option.limits.or_file);
    return text;
  }
  return is_flag(option) ? "`true` `false`" : cell(option.symbol);
}

std::string option_row(const Option& option) {
  const std::string otherwise = text_of(default_of(option));
  const std::string shorthand = option.shorthand.empty() ? "" : "`--" + option.shorthand + "`";
  return fmt::format("| `{}` | {} | {} | {} | {} |\n", option.key, shorthand, value_cell(option),
                     otherwise.empty() ? "" : "`" + cell(otherwise) + "`", cell(option.help));
}

}  // namespace

std::string run_file_reference() {
  std::string text = kTop;
  std::string section;
  for (const Option& option : option_table()) {
    if (option.section != section) {
      section = option.section;
      text += fmt::format(
          "\n## [{}]\n\n| key | short | value | default | |\n|---|---|---|---|---|\n", section);
    }
    text += option_row(option);
  }
  return text;
}

}  // namespace penstock
