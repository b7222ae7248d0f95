// launch/program/options/readers.h -- which runs read a key: the kinds of network, data and
// optimizer that do, and the keys that switch others on. A key that is written and that nothing
// reads is refused, for the run would be another one than was asked for.
#pragma once

#include <string>
#include <vector>

#include "launch/program/options/option_table.h"
#include "launch/program/options/settings.h"

namespace penstock {

// A key on which it depends whether others are read, with the values, as texts, for which they are.
struct Switch {
  std::string key;  // "model.kind"
  std::vector<std::string> values;
  bool other_than = false;  // the others are read for all values but these
};

// Keys of one section that are read where all switches are as they say.
struct Readers {
  std::string section;
  std::vector<std::string> keys;
  std::vector<Switch> switches;
};

// The whole table. A key that stands in several rows is read where one of these holds; a key that
// stands in none is read by every run.
[[nodiscard]] const std::vector<Readers>& readers_table();

// Whether a run with this configuration reads the key. A network of one's own (model.kind = "own")
// may read every key of [model].
[[nodiscard]] bool is_read(const Option& option, const Config& config);

// Where the key is read, for messages: "model.kind is decoder and model.positions is rotary";
// empty: everywhere.
[[nodiscard]] std::string read_where(const Option& option);

// Throws Error(Input), naming the key, its place and where it is read, for a key that the user has
// set to another value than its default and that the run does not read. What a file says may be
// switched off on the command line, so a key of the run file passes, too, where the file by itself
// reads it. Keys of a run file that the program has written pass: it writes all of them.
void check_read(const Settings& settings);

}  // namespace penstock
