// launch/program/options/layer_list.h -- reads and writes `[[model.layers]]`, a network written as
// a list of layers in the run file: from TOML to LayerConfig and back.
//
// It knows no kind of layer: runtime/network/models checks kinds and options later, and names in
// its errors the line that is kept here. Only run_file.cpp includes this, since it includes toml++,
// a large library.
#pragma once

#include <toml++/toml.h>

#include <string>
#include <vector>

#include "runtime/network/models/config.h"

namespace penstock {

// "run.toml:12": the line of `file` at which a node stands; `source` is the node's place.
[[nodiscard]] std::string place(const std::string& file, const toml::source_region& source);

// Reads a list of layers. `node` is the list; `key` is its name for messages, "model.layers" for
// the outermost one (lists may be nested); `file` is the file's name. Throws Error(Input) naming
// file, line and key.
[[nodiscard]] std::vector<LayerConfig> read_layers(const toml::node& node, const std::string& key,
                                                   const std::string& file);

// The layers as a TOML array of inline tables, with a line for each outermost layer.
[[nodiscard]] std::string write_layers(const std::vector<LayerConfig>& layers);

}  // namespace penstock
