// launch/program/planning/profile_file.cpp -- see profile_file.h.
#include "launch/program/planning/profile_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>

#include "kernels/error.h"
#include "launch/program/planning/layer_figures.h"
#include "runtime/system/files/input_file.h"
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

Json json_of(const LinkTimes& link) {
  return {{"latency_s", link.latency},
          {"seconds_per_byte", link.seconds_per_byte},
          {"overhead_s", link.overhead},
          {"receiver_copies", link.receiver_copies}};
}

Json json_of(const ProfiledLink& link) {
  return {{"first_rank", link.first},
          {"second_rank", link.second},
          {"of", link.of_replicas ? "replicas" : "stages"},
          {"same_node", link.same_node},
          {"seconds", link.seconds}};
}

// No layer has as many bytes, and the sums over all layers stay in 64 bits.
constexpr int64_t kMostOfALayer = 10'000'000'000'000;
constexpr double kLargestNumber = 1e30;

// A JSON object with the words for what is wrong in it.
class Object {
 public:
  Object(const std::string& file, std::string place, const nlohmann::json& json)
      : file_(file), place_(std::move(place)), json_(json) {
    if (!json_.is_object()) fail(place_.empty() ? "it" : place_, "is no object");
  }

  [[nodiscard]] Object object(const char* key) const { return {file_, named(key), member(key)}; }
  [[nodiscard]] std::vector<Object> objects(const char* key) const {
    const nlohmann::json& list = member(key);
    if (!list.is_array()) fail(named(key), "is no list");
    std::vector<Object> all;
    for (size_t i = 0; i < list.size(); ++i) {
      all.emplace_back(file_, fmt::format("{}[{}]", named(key), i), list[i]);
    }
    return all;
  }
  [[nodiscard]] std::string text(const char* key) const {
    if (!member(key).is_string()) fail(named(key), "is no text");
    return member(key).get<std::string>();
  }
  [[nodiscard]] double number(const char* key) const {
    if (!member(key).is_number()) fail(named(key), "is no number");
    const auto value = member(key).get<double>();
    if (!(value >= 0.0)) fail(named(key), "is below 0");
    if (value > kLargestNumber) fail(named(key), "is too large");
    return value;
  }
  [[nodiscard]] int64_t integer(const char* key) const {
    if (!member(key).is_number_integer()) fail(named(key), "is no integer");
    const auto value = member(key).get<int64_t>();
    if (value < 0) fail(named(key), "is below 0");
    if (value > kMostOfALayer) fail(named(key), "is too large");
    return value;
  }
  [[nodiscard]] bool flag(const char* key) const {
    if (!member(key).is_boolean()) fail(named(key), "is neither true nor false");
    return member(key).get<bool>();
  }
  [[nodiscard]] const std::string& place() const { return place_; }
  [[noreturn]] void fail(const std::string& key, const std::string& what) const {
    fail_input(
        fmt::format("{}: {} {}; make the profile again with penstock profile", file_, key, what));
  }

 private:
  [[nodiscard]] std::string named(const char* key) const {
    return place_.empty() ? fmt::format("'{}'", key) : fmt::format("{} '{}'", place_, key);
  }
  [[nodiscard]] const nlohmann::json& member(const char* key) const {
    const auto found = json_.find(key);
    if (found == json_.end()) fail(named(key), "is missing");
    return *found;
  }

  const std::string& file_;
  std::string place_;
  const nlohmann::json& json_;
};

LayerCost read_layer_cost(const Object& object) {
  LayerCost layer;
  layer.name = object.text("name");
  layer.kind = object.text("kind");
  for (const TimeFigure& figure : kTimeFigures) layer.*figure.member = object.number(figure.name);
  for (const BytesFigure& figure : kBytesFigures)
    layer.*figure.member = object.integer(figure.name);
  return layer;
}

LinkTimes read_link(const Object& object) {
  return {.latency = object.number("latency_s"),
          .seconds_per_byte = object.number("seconds_per_byte"),
          .overhead = object.number("overhead_s"),
          .receiver_copies = object.flag("receiver_copies")};
}

constexpr int64_t kMostProfileBytes = int64_t{16} << 20;

// "cuda (H200)" of "cuda:3 (H200)": a device without its number.
std::string without_number(const std::string& device) {
  const size_t open = device.find(" (");
  if (open == std::string::npos) return device;
  return device.substr(0, std::min(device.find(':'), open)) + device.substr(open);
}

nlohmann::json parsed(const std::string& path) {
  try {
    return read_json_file(path, kMostProfileBytes, FileOwner::User);
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::Input) throw;
    fail_input(fmt::format("{}; make the profile again with penstock profile", error.what()));
  }
}

}  // namespace

std::string profile_text(const Profile& profile) {
  Json json;
  json["version"] = kVersion;
  json["device"] = profile.costs.device;
  json["threads"] = profile.threads;
  json["micro_batch_size"] = profile.costs.micro_batch_size;
  json["precision"] = profile.precision;
  json["links"] = {{"within_node", json_of(profile.within_node)},
                   {"between_nodes", json_of(profile.between_nodes)}};
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
  const nlohmann::json json = parsed(path);
  const Object root(path, "", json);
  if (root.integer("version") != kVersion) {
    root.fail("'version'", fmt::format("is not {}, the one known here", kVersion));
  }
  Profile profile;
  profile.costs.device = root.text("device");
  profile.costs.micro_batch_size = root.integer("micro_batch_size");
  if (profile.costs.micro_batch_size < 1) root.fail("'micro_batch_size'", "is below 1");
  const int64_t threads = root.integer("threads");
  if (threads > std::numeric_limits<int>::max()) root.fail("'threads'", "is too large");
  profile.threads = static_cast<int>(threads);
  profile.precision = root.text("precision");
  const Object links = root.object("links");
  profile.within_node = read_link(links.object("within_node"));
  profile.between_nodes = read_link(links.object("between_nodes"));
  for (const Object& layer : root.objects("layers")) {
    profile.costs.layers.push_back(read_layer_cost(layer));
  }
  const auto layers = static_cast<int64_t>(profile.costs.layers.size());
  for (const Object& skip : root.objects("skips")) {
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
