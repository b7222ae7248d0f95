#include "launch/program/options/layer_places.h"

#include <sstream>

#include "kernels/error.h"

namespace penstock {
namespace {

void add_places(const std::vector<LayerConfig>& layers, std::string& text) {
  for (const LayerConfig& layer : layers) {
    text += layer.where + '\n';
    add_places(layer.layers, text);
    add_places(layer.shortcut, text);
  }
}

void take_places(std::vector<LayerConfig>& layers, std::istream& lines) {
  for (LayerConfig& layer : layers) {
    if (!std::getline(lines, layer.where)) fail_internal("a layer of the run file has no place");
    take_places(layer.layers, lines);
    take_places(layer.shortcut, lines);
  }
}

}  // namespace

std::string places_of(const std::vector<LayerConfig>& layers) {
  std::string text;
  add_places(layers, text);
  return text;
}

void set_places(std::vector<LayerConfig>& layers, const std::string& places) {
  std::istringstream lines(places);
  take_places(layers, lines);
}

}  // namespace penstock
