#include "launch/program/inspect/contents.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <tuple>

#include "runtime/data/tokenizer/vocabulary.h"
#include "runtime/network/autograd/name_patterns.h"
#include "runtime/network/layers/skip.h"
#include "runtime/planning/blueprint/layout.h"
#include "runtime/planning/costs/layer_costs.h"
#include "runtime/planning/costs/probe_data.h"
#include "runtime/records/telemetry/units.h"
#include "runtime/system/files/json.h"

namespace penstock {
namespace {

using Json = nlohmann::ordered_json;

// Returns the tensors sorted by file and name. Files are numbered in the order of layers.
std::vector<Contents::Entry> by_file(const std::vector<CheckpointReader::Stored>& stored) {
  std::vector<Contents::Entry> entries;
  entries.reserve(stored.size());
  for (const CheckpointReader::Stored& one : stored) {
    entries.push_back({one.tensor.name, one.tensor.shape, one.tensor.dtype, one.file});
  }
  std::sort(entries.begin(), entries.end(), [](const auto& a, const auto& b) {
    return std::tie(a.file, a.name) < std::tie(b.file, b.name);
  });
  return entries;
}

int64_t elements_of(const std::vector<Contents::Entry>& entries) {
  int64_t total = 0;
  for (const Contents::Entry& entry : entries) {
    int64_t elements = 1;
    for (const int64_t extent : entry.shape) elements *= extent;
    total += elements;
  }
  return total;
}

template <class Thing>  // a Parameter or a Buffer
Contents::Entry entry_of(const Thing& thing, DType type) {
  const auto extents = thing.shape.extents();
  return {thing.name, {extents.begin(), extents.end()}, safetensors_dtype(type), ""};
}

std::vector<Contents::Work> work_of(const Sequential& model, const ModelInput& input,
                                    const Config& config, DType computed) {
  const int64_t samples = config.pipeline.micro_batch_size;
  const MicroBatches cut{.size = samples, .several = config.pipeline.micro_batches > 1};
  const ModelCosts costs =
      counted_costs(model, input, cut, computed, config.optimizer, cpu_model({}));
  ShapeWalk shapes(Shapes{with_batch(samples, input.shape)});
  std::vector<Contents::Work> all;
  for (size_t i = 0; i < model.layers.size(); ++i) {
    (void)shapes.next(*model.layers[i]);
    const LayerCost& cost = costs.layers[i];
    Contents::Work work{.forward_flops = cost.forward_flops,
                        .output_bytes = cost.output_bytes,
                        .kept_bytes = cost.tape_bytes};
    for (const Shape& shape : shapes.between()) {
      work.outputs.emplace_back(shape.extents().begin(), shape.extents().end());
    }
    all.push_back(std::move(work));
  }
  return all;
}

using TableRow = std::vector<std::string>;

// Returns the rows of the table of layers, the headings first.
std::vector<TableRow> layer_rows(const Contents& contents) {
  std::vector<TableRow> rows = {{"layer", "kind", "parameters"}};
  if (!contents.work.empty()) {
    for (const char* more : {"output", "FLOPs", "bytes", "kept"}) rows[0].push_back(more);
  }
  for (size_t i = 0; i < contents.layers.size(); ++i) {
    const LayerRecord& layer = contents.layers[i];
    rows.push_back({layer.name, layer.kind, fmt::format("{}", layer.parameters)});
    if (contents.work.empty()) continue;
    const Contents::Work& work = contents.work[i];
    std::string outputs;
    for (const std::vector<int64_t>& shape : work.outputs) {
      outputs += fmt::format("{}[{}]", outputs.empty() ? "" : " ", fmt::join(shape, ", "));
    }
    rows.back().insert(rows.back().end(),
                       {outputs, count_text(work.forward_flops), bytes_text(work.output_bytes),
                        bytes_text(work.kept_bytes)});
  }
  return rows;
}

// Returns the rows as aligned columns: names, kinds and shapes on the left, numbers on the right.
std::string in_columns(const std::vector<TableRow>& rows) {
  std::vector<size_t> widths(rows[0].size());
  for (const TableRow& row : rows) {
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string text;
  for (const TableRow& row : rows) {
    std::string line;
    for (size_t i = 0; i < row.size(); ++i) {
      const bool words = i == 0 || i == 1 || i == 3;
      line += words ? fmt::format("{:<{}}  ", row[i], widths[i])
                    : fmt::format("{:>{}}  ", row[i], widths[i]);
    }
    text += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
  }
  return text;
}

std::string entry_table(const char* title, const std::vector<Contents::Entry>& entries) {
  std::vector<std::array<std::string, 4>> rows = {{title, "shape", "dtype", "file"}};
  for (const Contents::Entry& entry : entries) {
    rows.push_back(
        {entry.name, fmt::format("[{}]", fmt::join(entry.shape, ", ")), entry.dtype, entry.file});
  }
  if (rows.size() == 1) return "";
  if (entries[0].file.empty()) rows[0][3].clear();
  size_t names = 0;
  size_t shapes = 0;
  for (const auto& row : rows) {
    names = std::max(names, row[0].size());
    shapes = std::max(shapes, row[1].size());
  }
  std::string text = "\n";
  for (const auto& [name, shape, dtype, file] : rows) {
    const std::string end = file.empty() ? dtype : fmt::format("{:5}  {}", dtype, file);
    text += fmt::format("{:{}}  {:{}}  {}\n", name, names, shape, shapes, end);
  }
  return text;
}

Json entry_list(const std::vector<Contents::Entry>& entries) {
  Json list = Json::array();
  for (const Contents::Entry& entry : entries) {
    Json json = {{"name", entry.name}, {"shape", entry.shape}, {"dtype", entry.dtype}};
    if (!entry.file.empty()) json["file"] = entry.file;
    list.push_back(std::move(json));
  }
  return list;
}

}  // namespace

Contents contents_of(const CheckpointReader& checkpoint) {
  const CheckpointState& state = checkpoint.state();
  Contents contents;
  contents.heading = fmt::format(
      "checkpoint {}: step {}, {}, seed {}, written by penstock {}", checkpoint.directory(),
      state.step, amount_text(state.consumed_samples, "sample"), state.seed, state.version);
  contents.layers = state.layers;
  contents.tensors = by_file(checkpoint.model());
  contents.optimizer_tensors = by_file(checkpoint.optimizer());
  for (const LayerRecord& layer : state.layers) contents.parameters += layer.parameters;
  // Older checkpoints do not say which elements are parameters and which are statistics, so all are
  // counted.
  if (state.layers.empty()) contents.parameters = elements_of(contents.tensors);
  return contents;
}

Contents contents_of(const Config& config, const ModelMaker& models) {
  const int64_t vocabulary = known_vocabulary(config.data);
  const Sequential model = models.build(config.model, vocabulary, config.model.classes);
  check_model(config.model, model, models.input(config.model), config.pipeline.micro_batch_size);
  Contents contents;
  contents.heading = config.model.kind + ", for " +
                     (config.run.epochs > 0 ? amount_text(config.run.epochs, "epoch")
                                            : amount_text(config.run.steps, "step"));
  const DType computed = config.run.precision == "bf16" ? DType::BF16 : DType::F32;
  ParameterSet all;  // one set for all layers, because layers can share parameters
  for (const auto& layer : model.layers) {
    Declared& declared = all.declared();
    const int64_t before = declared.elements();
    const size_t parameters = declared.parameters.size();
    const size_t buffers = declared.buffers.size();
    layer->declare(all);
    contents.layers.push_back({layer->name(), layer->kind(), declared.elements() - before});
    std::vector<Contents::Entry> mine;
    for (size_t i = parameters; i < declared.parameters.size(); ++i) {
      Parameter& parameter = declared.parameters[i];
      parameter.frozen = matches_any(parameter.name, config.optimizer.freeze);
      if (parameter.first != nullptr) continue;
      mine.push_back(entry_of(parameter, parameter.kept_type(computed)));
    }
    for (size_t i = buffers; i < declared.buffers.size(); ++i) {
      mine.push_back(entry_of(declared.buffers[i], DType::F32));
    }
    std::sort(mine.begin(), mine.end(),
              [](const auto& a, const auto& b) { return a.name < b.name; });
    contents.tensors.insert(contents.tensors.end(), mine.begin(), mine.end());
  }
  contents.parameters = all.declared().elements();
  contents.work = work_of(model, models.input(config.model), config, computed);
  return contents;
}

std::string contents_table(const Contents& contents) {
  std::string text = contents.heading + "\n" + amount_text(contents.parameters, "parameter");
  text += contents.layers.empty()
              ? "\n"
              : " in " + amount_text(std::ssize(contents.layers), "layer") + "\n";
  if (!contents.work.empty()) {
    text +=
        "of a micro-batch: a layer's output, the operations of its forward, the bytes of the "
        "output, and those kept for the backward\n";
  }
  if (!contents.layers.empty()) text += "\n" + in_columns(layer_rows(contents));
  return text + entry_table("tensor", contents.tensors) +
         entry_table("optimizer's and averages", contents.optimizer_tensors);
}

std::string contents_json(const Contents& contents) {
  Json layers = Json::array();
  for (size_t i = 0; i < contents.layers.size(); ++i) {
    const LayerRecord& layer = contents.layers[i];
    Json json = {{"name", layer.name}, {"kind", layer.kind}, {"parameters", layer.parameters}};
    if (!contents.work.empty()) {
      const Contents::Work& work = contents.work[i];
      json["outputs"] = work.outputs;
      json["forward_flops"] = work.forward_flops;
      json["output_bytes"] = work.output_bytes;
      json["kept_bytes"] = work.kept_bytes;
    }
    layers.push_back(std::move(json));
  }
  Json json = {{"parameters", contents.parameters},
               {"layers", std::move(layers)},
               {"tensors", entry_list(contents.tensors)}};
  if (!contents.optimizer_tensors.empty()) {
    json["optimizer_tensors"] = entry_list(contents.optimizer_tensors);
  }
  return shown_json(json) + "\n";
}

}  // namespace penstock
