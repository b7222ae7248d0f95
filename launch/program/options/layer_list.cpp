// launch/program/options/layer_list.cpp -- see layer_list.h.
#include "launch/program/options/layer_list.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "kernels/error.h"
#include "launch/program/options/toml_value.h"
#include "runtime/system/files/byte_text.h"

namespace penstock {
namespace {

std::vector<int64_t> read_integers(const toml::array& array, const std::string& key,
                                   const std::string& file) {
  std::vector<int64_t> integers;
  for (const toml::node& element : array) {
    const auto* integer = element.as_integer();
    if (integer == nullptr) {
      fail_input(
          fmt::format("{}: '{}' must be a list of integers", place(file, element.source()), key));
    }
    integers.push_back(integer->get());
  }
  return integers;
}

LayerConfig::Value read_option(const toml::node& node, const std::string& key,
                               const std::string& file) {
  if (const auto* flag = node.as_boolean()) return flag->get();
  if (const auto* integer = node.as_integer()) return integer->get();
  if (const auto* number = node.as_floating_point()) return number->get();
  if (const auto* text = node.as_string()) return bytes_of(text->get());
  if (const auto* array = node.as_array()) return read_integers(*array, key, file);
  fail_input(fmt::format(
      "{}: '{}' must be true, false, a number, a text or a list of integers; lists of layers are "
      "called 'layers' and 'shortcut'",
      place(file, node.source()), key));
}

std::string text_at(const toml::node& node, const std::string& key, const std::string& file) {
  const auto* text = node.as_string();
  if (text == nullptr || text->get().empty()) {
    fail_input(
        fmt::format("{}: '{}' must be a text such as \"linear\"", place(file, node.source()), key));
  }
  return bytes_of(text->get());
}

LayerConfig read_layer(const toml::table& table, const std::string& path, const std::string& file) {
  LayerConfig layer;
  layer.where = place(file, table.source());
  for (const auto& [toml_key, node] : table) {
    const std::string key(toml_key.str());
    const std::string full = fmt::format("{}.{}", path, key);
    if (key == "kind") {
      layer.kind = text_at(node, full, file);
    } else if (key == "name") {
      layer.name = text_at(node, full, file);
    } else if (key == "layers") {
      layer.layers = read_layers(node, full, file);
    } else if (key == "shortcut") {
      layer.shortcut = read_layers(node, full, file);
    } else {
      layer.options.emplace(key, read_option(node, full, file));
    }
  }
  if (layer.kind.empty()) {
    fail_input(fmt::format("{}: layer {} has no kind; add kind = \"linear\" or another",
                           layer.where, path));
  }
  return layer;
}

std::string write_list(const std::vector<LayerConfig>& layers, const std::string& before_each,
                       const std::string& after_all);

// Returns the key as TOML writes it: in quotes if it has characters other than letters, digits, -
// and _.
std::string toml_key(const std::string& key) {
  const auto bare = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-';
  };
  const bool all_bare = !key.empty() && std::all_of(key.begin(), key.end(), bare);
  return all_bare ? key : toml_text(key);
}

std::string write_layer(const LayerConfig& layer) {
  std::string text = "{ kind = " + toml_text(layer.kind);
  if (!layer.name.empty()) text += ", name = " + toml_text(layer.name);
  for (const auto& [key, value] : layer.options) {
    text += ", " + toml_key(key) + " = ";
    text += std::visit([](const auto& option) { return toml_text(option); }, value);
  }
  if (!layer.layers.empty()) text += ", layers = " + write_list(layer.layers, " ", " ");
  if (!layer.shortcut.empty()) text += ", shortcut = " + write_list(layer.shortcut, " ", " ");
  return text + " }";
}

std::string write_list(const std::vector<LayerConfig>& layers, const std::string& before_each,
                       const std::string& after_all) {
  std::string text = "[";
  for (const LayerConfig& layer : layers) {
    text += (text.size() > 1 ? "," : "") + before_each + write_layer(layer);
  }
  return text + after_all + "]";
}

}  // namespace

std::string place(const std::string& file, const toml::source_region& source) {
  return fmt::format("{}:{}", file, source.begin.line);
}

std::vector<LayerConfig> read_layers(const toml::node& node, const std::string& key,
                                     const std::string& file) {
  const toml::array* array = node.as_array();
  std::vector<LayerConfig> layers;
  for (size_t i = 0; array != nullptr && i < array->size(); ++i) {
    const toml::table* table = (*array)[i].as_table();
    if (table == nullptr) {
      array = nullptr;
      break;
    }
    layers.push_back(read_layer(*table, fmt::format("{}[{}]", key, i), file));
  }
  if (array == nullptr) {
    fail_input(fmt::format("{}: '{}' must be a list of layers, each like {{ kind = \"relu\" }}",
                           place(file, node.source()), key));
  }
  return layers;
}

std::string write_layers(const std::vector<LayerConfig>& layers) {
  return write_list(layers, "\n  ", "\n");
}

}  // namespace penstock
