// launch/program/options/layer_list.h -- `[[model.layers]]`: a network as a list of layers, between
// TOML and LayerConfig. Knows no kind of layer; runtime/network/models checks kinds and options,
// with the place kept here. Includes toml++, so only run_file.cpp includes this.
#pragma once

#include <toml++/toml.h>

#include <string>
#include <vector>

#include "runtime/network/models/config.h"

namespace penstock {

// "run.toml:12".
[[nodiscard]] std::string place(const std::string& file, const toml::source_region& source);

// The shortest digits that read back to the same bits (toml++ writes all 17), and a point, so that
// it stays a float.
[[nodiscard]] std::string number_text(double number);

// Throws Error(Input) naming file, line and key. `key` is "model.layers" for the outermost list.
[[nodiscard]] std::vector<LayerConfig> read_layers(const toml::node& node, const std::string& key,
                                                   const std::string& file);

// An array of inline tables, one line for each outermost layer.
[[nodiscard]] std::string write_layers(const std::vector<LayerConfig>& layers);

}  // namespace penstock
