// runtime/records/telemetry/json_records.cpp -- see json_records.h.
#include "runtime/records/telemetry/json_records.h"

#include <nlohmann/json.hpp>

#include "runtime/system/files/json.h"

namespace penstock {
namespace {

using Json = nlohmann::ordered_json;  // keeps keys in the order in which they are added

// Returns the record as JSON. Names of hosts, devices and files in it are not always valid
// UTF-8; shown_json() writes such names as well.
std::string dump(const Json& json, int indent) {
  return shown_json(json, indent);
}

double per_second(int64_t count, double ms) {
  return 1e3 * static_cast<double>(count) / ms;
}

void add_speed(Json& json, const std::optional<Speed>& speed) {
  if (!speed) return;
  json["tflops"] = speed->tflops;
  json["mfu"] = speed->mfu;
  json["peak_tflops"] = speed->peak_tflops;
}

Json replan_json(const ReplanRecord& record) {
  return {
      {"step", record.step},
      {"before", record.before},
      {"after", record.after},
      {"predicted_step_ms",
       {{"before", record.predicted_before_ms}, {"after", record.predicted_after_ms}}},
      {"measured_step_ms",
       {{"before", record.measured_before_ms}, {"after", record.measured_after_ms}}},
      {"seconds", record.seconds},
      {"bytes", record.bytes},
  };
}

Json memory_json(const MemoryUse& memory) {
  return {
      {"parameters", memory.peak_of(Purpose::Parameters)},
      {"gradients", memory.peak_of(Purpose::Gradients)},
      {"optimizer", memory.peak_of(Purpose::Optimizer)},
      {"activations", memory.peak_of(Purpose::Activations)},
      {"workspace", memory.peak_of(Purpose::Workspace)},
      {"communication", memory.peak_of(Purpose::Communication)},
      {"total", memory.total_peak},
  };
}

Json rank_json(const RankRecord& record) {
  Json json = {
      {"rank", record.rank},
      {"stage", record.stage},
      {"replica", record.replica},
      {"host", record.host},
      {"device", record.device},
      {"layers", record.layers},
      {"parameters", record.parameters},
      {"peak_bytes", memory_json(record.memory)},
      {"reserved_bytes", record.memory.reserved},
      {"snapshot_bytes", record.snapshot_bytes},
      {"busy_fraction", record.busy_fraction},
      {"data_wait_ms", record.data_wait_ms},
      {"data_waits", record.data_waits},
      {"allocations_per_step", record.allocations_per_step},
      {"primitives_per_step", record.primitives_per_step},
      {"requests_per_step", record.requests_per_step},
      {"commands_per_step", record.commands_per_step},
  };
  if (record.predicted_peak_bytes) json["predicted_peak_bytes"] = *record.predicted_peak_bytes;
  return json;
}

Json load_json(const ExpertLoad& load, bool rows) {
  Json json = {{"layer", load.layer},
               {"largest", load.largest()},
               {"least", load.least()},
               {"idle", load.idle()}};
  if (rows) json["rows"] = load.rows;
  return json;
}

Json history_json(const ExpertHistory& history) {
  Json json = load_json(history.last, true);
  json["largest_mean"] = history.largest_mean();
  json["largest_of_all"] = history.largest_of_all;
  json["at_step"] = history.at_step;
  return json;
}

Json eval_json(const EvalRecord& record) {
  Json json = {
      {"eval", true}, {"step", record.step}, {"attempt", record.attempt}, {"loss", record.loss}};
  if (record.accuracy) json["accuracy"] = *record.accuracy;
  json["samples"] = record.samples;
  json["seconds"] = record.seconds;
  if (record.best) json["best"] = true;
  return json;
}

Json start_json(const StartRecord& record) {
  return {{"attempt", record.attempt},     {"date", record.date},
          {"command", record.command},     {"program", record.program},
          {"build", record.build},         {"libraries", record.libraries},
          {"host", record.host},           {"hosts", record.hosts},
          {"processor", record.processor}, {"environment", record.environment}};
}

Json transfer_json(const TransferRecord& record) {
  return {{"checkpoint", record.checkpoint},
          {"loaded", record.loaded.size()},
          {"skipped", record.skipped},
          {"missing", record.missing},
          {"unused", record.unused}};
}

}  // namespace

std::string json_line(const StartRecord& record) {
  return dump(start_json(record), -1);
}

std::string json_line(const StepRecord& record, bool tokens, bool expert_rows) {
  Json json = {
      {"step", record.step},
      {"loss", record.loss},
      {"grad_norm", record.grad_norm},
      {"learning_rate", record.learning_rate},
      {"samples", record.samples},
      {"tokens", record.tokens},
      {"step_ms", record.step_ms},
      {"throughput", per_second(record.samples, record.step_ms)},
      {"data_wait_ms", record.data_wait_ms},
      {"attempt", record.attempt},
  };
  if (tokens) json["loss_tokens"] = record.loss_tokens;
  if (tokens) json["tokens_per_s"] = per_second(record.tokens, record.step_ms);
  if (record.accuracy) json["accuracy"] = *record.accuracy;
  if (record.epoch) json["epoch"] = record.epoch->done;
  if (record.left_out) json["left_out"] = true;
  if (record.rolled_back) json["rolled_back"] = true;
  if (record.auxiliary_loss) json["auxiliary_loss"] = *record.auxiliary_loss;
  add_speed(json, record.speed);
  for (const ExpertLoad& load : record.experts) {
    json["experts"].push_back(load_json(load, expert_rows));
  }
  return dump(json, -1);
}

std::string json_line(const EvalRecord& record) {
  return dump(eval_json(record), -1);
}

std::string json_text(const RunSummary& summary) {
  Json json = {
      {"ranks", summary.ranks},
      {"stages", summary.stages},
      {"replicas", summary.replicas},
      {"micro_batches", summary.micro_batches},
      {"micro_batch_size", summary.micro_batch_size},
      {"model", summary.model},
      {"schedule", summary.schedule},
      {"recompute", summary.recompute},
      {"device", summary.device},
      {"precision", summary.precision},
      {"threads", summary.threads},
      {"parameters", summary.parameters},
      {"frozen_parameters", summary.frozen_parameters},
      {"steps", summary.steps},
      {"attempt", summary.attempt},
      {"final_loss", summary.final_loss},
      {"samples_per_s", summary.samples_per_s},
  };
  if (summary.dry_run) {
    json.erase("final_loss");
    json["dry_run"] = true;
  }
  if (summary.warm_up > 0) json["warm_up"] = summary.warm_up;
  if (!summary.kept_stages.empty()) json["kept_stages"] = summary.kept_stages;
  if (summary.epoch) {
    json["epoch"] = summary.epoch->done;
    json["epochs"] = summary.epoch->of;
  }
  if (summary.tokens_per_s) json["tokens_per_s"] = *summary.tokens_per_s;
  if (summary.loss_share) json["loss_share"] = *summary.loss_share;
  add_speed(json, summary.speed);
  if (summary.speed) json["peak_from"] = summary.speed->peak_from;
  json["bubble"] = {{"measured", summary.bubble_measured}, {"predicted", summary.bubble_predicted}};
  json["step_ms"] = {{"median", summary.step_ms_median}, {"p95", summary.step_ms_p95}};
  if (summary.forecast) {
    json["step_ms"]["predicted"] = summary.forecast->step_ms;
    json["exposed_communication_ms"] = {{"predicted", summary.forecast->exposed_communication_ms}};
    json["predicted_from"] = summary.forecast->basis;
  }
  json["seconds"] = summary.seconds;
  for (const ExpertHistory& history : summary.experts) {
    json["experts"].push_back(history_json(history));
  }
  for (const ReplanRecord& record : summary.replans) {
    json["replans"].push_back(replan_json(record));
  }
  if (summary.rolled_back > 0) json["rolled_back"] = summary.rolled_back;
  if (!summary.stopped.empty()) json["stopped"] = summary.stopped;
  if (summary.init) json["init"] = transfer_json(*summary.init);
  if (summary.final_eval) json["final_eval"] = eval_json(*summary.final_eval);
  if (summary.best) {
    json["best"] = {{"metric", summary.best->metric},
                    {"step", summary.best->step},
                    {"value", summary.best->value}};
  }
  if (!summary.ended_early.empty()) json["ended_early"] = summary.ended_early;
  json["checkpoints"] = {{"count", summary.checkpoints.count},
                         {"stall_ms", summary.checkpoints.stall_ms},
                         {"bytes", summary.checkpoints.bytes}};
  if (summary.start) json["start"] = start_json(*summary.start);
  json["ranks_detail"] = Json::array();
  for (const RankRecord& record : summary.ranks_detail) {
    json["ranks_detail"].push_back(rank_json(record));
  }
  return dump(json, 2);
}

}  // namespace penstock
