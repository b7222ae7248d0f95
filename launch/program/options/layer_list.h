// launch/program/options/layer_list.h -- `[[model.layers]]`, a network as a list of layers: from
// TOML to LayerConfig and back. Knows no kind of layer: runtime/network/models checks kinds and
// options, and names the place in the file that is kept here. Includes toml++, so only run_file.cpp
// includes this.
#pragma once

#include <toml++/toml.h>

#include <string>
#include <vector>

#include "runtime/network/models/config.h"

namespace penstock {

// The file and the line of `source`, which is where a node stands in it: "run.toml:12".
[[nodiscard]] std::string place(const std::string& file, const toml::source_region& source);

// The shortest text that reads back to the same bits (toml++ writes all 17 digits), with a point,
// so that TOML takes it for a float.
[[nodiscard]] std::string number_text(double number);

// The layers of the list `node`, which `file` has as `key`: "model.layers" for the outermost.
// Throws Error(Input) naming file, line and key.
[[nodiscard]] std::vector<LayerConfig> read_layers(const toml::node& node, const std::string& key,
                                                   const std::string& file);

// The layers as a TOML array of inline tables, one line for each outermost layer.
[[nodiscard]] std::string write_layers(const std::vector<LayerConfig>& layers);

}  // namespace penstock
