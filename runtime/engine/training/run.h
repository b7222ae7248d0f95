// runtime/engine/training/run.h -- Run: a whole training run, from the configuration to the last
// checkpoint and the summary.
//
// The constructor opens the data, builds and connects the network and loads weights; to_the_end()
// takes the steps. Run decides when: steps, evaluations, checkpoints, copies in memory, reports,
// the trace, stopping. What happens inside a step is in step.h. `penstock train` makes one Run on
// every rank. docs/concepts.md explains stage, replica, micro-batch and schedule.
#pragma once

#include <boost/container/static_vector.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "runtime/engine/measurements/run_report.h"
#include "runtime/engine/measurements/trace_recorder.h"
#include "runtime/engine/training/checkpoints/checkpointing.h"
#include "runtime/engine/training/checkpoints/resume.h"
#include "runtime/engine/training/checkpoints/saver.h"
#include "runtime/engine/training/data_source.h"
#include "runtime/engine/training/evaluation/evaluations.h"
#include "runtime/engine/training/partner/copying.h"
#include "runtime/engine/training/replan/assembly.h"
#include "runtime/engine/training/replan/replanner.h"
#include "runtime/engine/training/step.h"
#include "runtime/engine/training/stopping.h"
#include "runtime/network/models/models.h"
#include "runtime/planning/blueprint/blueprint.h"
#include "runtime/planning/blueprint/config.h"
#include "runtime/planning/blueprint/forecast.h"
#include "runtime/records/telemetry/records.h"
#include "runtime/records/telemetry/reporter.h"
#include "runtime/system/comm/station.h"

namespace penstock {

// What is to be trained. Configuration and models are the same on every rank.
struct RunOrder {
  // The directory config.run.out must exist, since checkpoints are written below it, and
  // config.run.steps is not 0.
  const Config& config;
  const ModelMaker& models;  // where networks come from
  std::string run_file;      // the configuration as text, which goes into the checkpoints
  // The same text for a configuration with another split, after a re-plan; null: `run_file` stays.
  std::function<std::string(const Config&)> run_file_of = nullptr;
  std::string identity = {};  // the identity of the run directory, which goes into the checkpoints
  int64_t attempt = 1;        // the number of this attempt at the run, from 1
  // Called on rank 0 after a re-plan, with the schedule that was searched for the new split; null:
  // it is not kept.
  std::function<void(const std::string& csv, const Certificate& certificate)> keep_schedule =
      nullptr;
  // What ranks compute on, for the forecast, on rank 0; null: all on the device of rank 0, counted.
  const Devices* devices = nullptr;
  Stopping* stopping = nullptr;  // asked after every step; null: nothing stops the run
  // Asks for a re-plan (run.replan), on rank 0; null: nobody does.
  AskForReplan asked_to_replan = nullptr;
  // The step directory of a checkpoint to go on from; empty: from the start.
  std::string resume_from = {};
  bool is_verified = false;  // whether verify_checkpoint() has found resume_from whole already
  int64_t until = 0;         // the run ends after this step, as at its end; 0: after run.steps
  // Called on every rank when everything is planned and proved, before weights are allocated and
  // before any rank but rank 0 opens the data. May communicate over the network's world, and throw.
  // Null: nothing is called.
  std::function<void(const Blueprint&)> drawn_up = nullptr;
};

class Run {
 public:
  // Collective over all ranks. Opens the data, builds the network and the pipeline, loads the state
  // of resume_from or else the weights that the configuration names (model.from, init.from,
  // model.lora.from), and tells `reporter` (null except on rank 0) what is about to run. All that
  // the arguments refer to must outlive this. Throws Error; where all ranks throw the same, its
  // scope() says so. `station`: which rank this is, with its network, its place in stages x
  // replicas and its device.
  Run(const RunOrder& order, const Station& station, Reporter* reporter);

  // What was learnt of the data when they were opened.
  [[nodiscard]] const DataFacts& facts() const { return source_.facts(); }
  // The names of the classes of images, on rank 0; elsewhere none.
  [[nodiscard]] const std::vector<std::string>& class_names() const {
    return source_.class_names();
  }

  // Trains to the last step and its evaluation, or until run.patience ends the run
  // (RunSummary::ended_early) or any rank is asked to stop; then saves a checkpoint and reports.
  // Collective over all ranks; called once. An evaluation that an earlier attempt put off comes
  // first. Returns the summary on rank 0 (elsewhere only what this rank knows); RunSummary::stopped
  // says why the run was stopped, if it was. Throws as the constructor does.
  [[nodiscard]] RunSummary to_the_end();
  // Takes the memory for copies of the state (checkpoint.partner) and makes the first; before
  // to_the_end(), and before an older run's files are removed, since there may be no room.
  // Collective over all ranks. Throws on every rank: Error(Resource) where a rank has no room,
  // Error(Input) where checkpoint.partner_dir is no directory on a host.
  void begin_copies();

 private:
  // Tells the user one line, on rank 0.
  void note(const std::string& line);
  // Loads weights of another run or of a folder.
  void start_from_elsewhere();
  // Loads the weights that init.from names.
  void start_from_another();
  // Loads the state of resume_from.
  void go_on(bool is_verified);
  void note_frozen();
  void note_optimizer();
  [[nodiscard]] std::unique_ptr<Assembly> assemble(const RunOrder& order);
  [[nodiscard]] Forecast outlook_on_first_rank(const Blueprint& blueprint, const Devices* devices);
  [[nodiscard]] EvaluationListeners listeners();
  void take_step(int64_t number);
  // Called after step `number`: ends the copy in memory that is due, and reports the steps whose
  // outcome is known by now (with optimizer.barrier = false this step's may not be). Returns
  // whether the run is to stop.
  [[nodiscard]] bool conclude(int64_t number);
  // Reports one step.
  void conclude(StepRecord record);
  [[nodiscard]] std::optional<EpochRecord> epoch_now() const;
  [[nodiscard]] Progress progress(bool owes_evaluation) const;
  [[nodiscard]] StepVote vote();
  [[nodiscard]] bool wants_replan();
  [[nodiscard]] std::span<const Batch> next_batches(int64_t step);
  // Called for a step that changed nothing since its loss or gradient is not finite: notes it, or
  // ends the run.
  void leave_out(const StepRecord& record);
  // Called after the last step and before checkpoints: ends the run where its update has left
  // weights or averages that are not finite, which no checkpoint or copy in memory should hold.
  void refuse_spoilt_weights();
  // Called when the audit of the step just run has found something: takes the step again where
  // run.on_corruption is "retry", or ends the run.
  void answer_doubt(int64_t number, std::span<const Batch> batches, StepRecord& record);
  [[noreturn]] void end_in_doubt(const std::string& what);
  [[nodiscard]] bool evaluate(int64_t step, bool stops);
  void save_last(const Progress& progress);
  void begin_copy(int64_t step);
  void watch_for_replans(const RunOrder& order);
  // Called after a step in which all ranks have agreed to a re-plan (replan/): splits the layers in
  // another way, if that is what comes out, and goes on with the same state.
  void replan(int64_t number);
  // The part of it that changes from one split to the other. Returns the bytes that came to this
  // rank.
  int64_t take_over(const Config& config);
  void write_trace();

  const Config& config_;
  Station station_;
  Reporter* reporter_;
  Stopping* stopping_;
  DataSource source_;
  ResumePoint resumed_;               // where this run begins
  std::optional<Forecast> forecast_;  // on rank 0, until report_ takes it over
  std::unique_ptr<Assembly> now_;     // never null
  Saver saver_;
  Checkpointing checkpoints_;
  Copying copies_;
  int64_t until_;
  std::optional<Error> unsaved_;  // why the last checkpoint could not be written
  RunReport report_;
  TraceRecorder trace_;
  std::function<std::string(const Config&)> run_file_of_;
  std::function<void(const std::string&, const Certificate&)> keep_schedule_;
  const ModelMaker& models_;
  std::optional<Replanner> replanner_;  // with run.replan
  bool replans_ = false;                // ranks have agreed to a re-plan after this step
  double making_s_ = 0.0;               // how long making the first assembly took
  int left_out_in_a_row_ = 0;           // steps left out since the last one that was not
  std::string doubted_;  // why the run ends after this step: an audit found an update wrong
  // What clocks know of steps whose outcome is not known yet.
  boost::container::static_vector<StepRecord, 2> timed_;
  StepRecord last_;          // the last step whose outcome is known
  int64_t rolled_back_ = 0;  // steps whose update was taken back
};

}  // namespace penstock
