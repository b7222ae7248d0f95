// launch/program/planning/files/profile_file.cpp -- see profile_file.h.
#include "launch/program/planning/files/profile_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "kernels/error.h"
#include "launch/program/planning/files/file_object.h"
#include "launch/program/planning/files/layer_figures.h"
#include "runtime/system/files/json.h"

namespace penstock {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kVersion = 2;

Json json_of(const LayerCost& layer) {
  Json json;
  json["name"] = layer.name;
  json["kind"] = layer.kind;
  for (const TimeFigure& figure : kTimeFigures) json[figure.name] = layer.*figure.member;
  for (const BytesFigure& figure : kBytesFigures) json[figure.name] = layer.*figure.member;
  return json;
}

Json json_of(const ProfiledLink& link) {
  return {{"first_rank", link.first},
          {"second_rank", link.second},
          {"of", link.of_replicas ? "replicas" : "stages"},
          {"same_node", link.same_node},
          {"seconds", link.seconds}};
}

constexpr const char* kProfileCure = "make the profile again with penstock profile";

LayerCost read_layer_cost(const FileObject& object) {
  LayerCost layer;
  layer.name = object.text("name");
  layer.kind = object.text("kind");
  for (const TimeFigure& figure : kTimeFigures) layer.*figure.member = object.number(figure.name);
  for (const BytesFigure& figure : kBytesFigures)
    layer.*figure.member = object.integer(figure.name);
  return layer;
}

constexpr int64_t kMostProfileBytes = int64_t{16} << 20;

// "cuda (H200)" of "cuda:3 (H200)": a device without its number.
std::string without_number(const std::string& device) {
  const size_t open = device.find(" (");
  if (open == std::string::npos) return device;
  return device.substr(0, std::min(device.find(':'), open)) + device.substr(open);
}

}  // namespace

std::string profile_text(const Profile& profile) {
  Json json;
  json["version"] = kVersion;
  json["device"] = profile.costs.device;
  json["threads"] = profile.threads;
  json["micro_batch_size"] = profile.costs.micro_batch_size;
  json["precision"] = profile.precision;
  json["links"] = {{"within_node", link_json(profile.within_node)},
                   {"between_nodes", link_json(profile.between_nodes)}};
  if (!profile.links.empty()) {
    json["links"]["bytes"] = profile.link_bytes;
    for (const ProfiledLink& link : profile.links) json["links"]["each"].push_back(json_of(link));
  }
  json["layers"] = Json::array();
  for (const LayerCost& layer : profile.costs.layers) json["layers"].push_back(json_of(layer));
  json["skips"] = Json::array();
  for (const LayerSkip& skip : profile.costs.skips) {
    json["skips"].push_back(
        {{"from_layer", skip.from_layer}, {"to_layer", skip.to_layer}, {"bytes", skip.bytes}});
  }
  return shown_json(json, 1) + "\n";
}

Profile read_profile(const std::string& path) {
  const nlohmann::json json = read_user_json(path, kMostProfileBytes, kProfileCure);
  const FileObject root(path, kProfileCure, json);
  if (root.integer("version") != kVersion) {
    root.fail("'version'", fmt::format("is not {}, the one known here", kVersion));
  }
  Profile profile;
  profile.costs.device = root.text("device");
  profile.costs.micro_batch_size = root.integer("micro_batch_size");
  if (profile.costs.micro_batch_size < 1) root.fail("'micro_batch_size'", "is below 1");
  profile.threads = root.count("threads");
  profile.precision = root.text("precision");
  const FileObject links = root.object("links");
  profile.within_node = link_of(links.object("within_node"));
  profile.between_nodes = link_of(links.object("between_nodes"));
  for (const FileObject& layer : root.objects("layers")) {
    profile.costs.layers.push_back(read_layer_cost(layer));
  }
  const auto layers = static_cast<int64_t>(profile.costs.layers.size());
  for (const FileObject& skip : root.objects("skips")) {
    const int64_t from = skip.integer("from_layer");
    const int64_t to = skip.integer("to_layer");
    if (from >= to || to >= layers)
      skip.fail(fmt::format("{} the skip", skip.place()), "leads to no later layer");
    profile.costs.skips.push_back(
        {static_cast<int>(from), static_cast<int>(to), skip.integer("bytes")});
  }
  return profile;
}

void check_precision(const Profile& profile, const std::string& path,
                     const std::string& precision) {
  if (profile.precision == precision) return;
  fail_input(
      fmt::format("{} was measured in {}, and the run computes in {}: measure it with "
                  "penstock profile --precision {}, or leave the profile out",
                  path, profile.precision, precision, precision));
}

std::string other_device_text(const Profile& profile, const std::string& path,
                              const std::string& device) {
  if (without_number(profile.costs.device) == without_number(device)) return "";
  return fmt::format(
      "{} was measured on {}, and this run has {}: forecasts are those of the measured one; "
      "penstock profile measures this one",
      path, profile.costs.device, device);
}

}  // namespace penstock
