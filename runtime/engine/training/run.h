// runtime/engine/training/run.h -- Run: a network's training from the configuration to the last
// checkpoint. Says when: steps, evaluations, checkpoints, reports, the trace. What a step does is
// step.h's business.
#pragma once

#include <boost/container/static_vector.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "runtime/engine/measurements/run_report.h"
#include "runtime/engine/measurements/trace_recorder.h"
#include "runtime/engine/training/batches.h"
#include "runtime/engine/training/checkpoints/checkpointing.h"
#include "runtime/engine/training/checkpoints/resume.h"
#include "runtime/engine/training/checkpoints/saver.h"
#include "runtime/engine/training/data_source.h"
#include "runtime/engine/training/partner/partner_copies.h"
#include "runtime/engine/training/step.h"
#include "runtime/engine/training/stopping.h"
#include "runtime/network/models/models.h"
#include "runtime/planning/blueprint/blueprint.h"
#include "runtime/planning/blueprint/config.h"
#include "runtime/planning/blueprint/forecast.h"
#include "runtime/planning/plan/profile.h"
#include "runtime/records/telemetry/records.h"
#include "runtime/records/telemetry/reporter.h"
#include "runtime/system/comm/station.h"

namespace penstock {

// What is to be trained. Configuration and models are the same on every rank.
struct RunOrder {
  const Config& config;              // run.out must exist; checkpoints are written below it
  const ModelMaker& models;          // where networks come from
  std::string run_file;              // the configuration as text, for the checkpoints
  std::string identity = {};         // of the run directory, for the checkpoints too
  int64_t attempt = 1;               // the number of this attempt at the run
  const Profile* profile = nullptr;  // for the predictions in the report; null where there is none
  Stopping* stopping = nullptr;      // asked after every step; null: nothing stops the run
  std::string resume_from = {};      // a step directory to go on from; empty: from the start
  bool is_verified = false;          // verify_checkpoint() has found resume_from whole
  int64_t until = 0;                 // ends after this step, not asked to stop; 0: after run.steps
  // Called on every rank when all is decided; until then only rank 0 has opened anything, the data.
  // May communicate over the network's world, and throw. Null: nothing is called.
  std::function<void(const Blueprint&)> drawn_up = nullptr;
};

class Run {
 public:
  // Collective over all ranks. Opens the data, builds the network and the pipeline, loads what
  // resume_from, or else init.from names, and tells `reporter` (null except on rank 0) what is
  // about to run. All that the arguments refer to must outlive this. Throws Error; those that every
  // rank throws say so (ErrorScope).
  Run(const RunOrder& order, const Station& station, Reporter* reporter);

  // What was learnt of the data when they were opened.
  [[nodiscard]] const DataFacts& facts() const { return source_.facts(); }
  // The names of the classes of images, on rank 0; elsewhere none.
  [[nodiscard]] const std::vector<std::string>& class_names() const {
    return source_.class_names();
  }

  // Collective; once. Trains to the last step and its evaluation, or until any rank is to stop;
  // then saves a checkpoint and reports, and RunSummary::stopped says why it stopped. An evaluation
  // that an earlier attempt still owed comes first. Returns the summary on rank 0 (elsewhere only
  // what this rank knows). Throws as the constructor does.
  [[nodiscard]] RunSummary to_the_end();

 private:
  void note(const std::string& line);
  void start_from_elsewhere();
  void start_from_another();
  void go_on(bool is_verified);
  void note_frozen();
  [[nodiscard]] std::optional<Forecast> look_ahead(const RunOrder& order);
  [[nodiscard]] Forecast outlook_on_first_rank(const Profile* profile);
  void take_step(int64_t number);
  // Settles the copy in memory that is due and reports the steps whose outcome is known now, which
  // may not include this one yet. Returns whether the run is to stop.
  [[nodiscard]] bool conclude(int64_t number);
  void conclude(StepRecord record);
  [[nodiscard]] bool is_evaluated(int64_t number) const;
  [[nodiscard]] bool make_up_evaluation();
  [[nodiscard]] bool put_off_evaluation(int64_t step);
  [[nodiscard]] Progress progress(bool owes_evaluation) const;
  [[nodiscard]] StepVote vote() const;
  [[nodiscard]] std::span<const Batch> next_batches(int64_t step);
  void leave_out(const StepRecord& record);
  // Answers what the audit of the step that has just run has found: takes the step again where
  // run.on_corruption says so, until there is nothing to doubt.
  void answer_doubt(int64_t number, std::span<const Batch> batches, StepRecord& record);
  [[noreturn]] void end_in_doubt(const std::string& what);
  // Returns false where a stop was asked for meanwhile: the evaluation is then put off.
  [[nodiscard]] bool evaluate(int64_t step);
  void save_last(const Progress& progress);
  // Does `work` on copies in memory, which may fail where checkpoint.on_error says so.
  void copying(const std::function<void()>& work);
  void begin_copies();
  void begin_copy(int64_t step);
  void end_copies();
  void write_trace();

  const Config& config_;
  Station station_;
  Reporter* reporter_;
  Stopping* stopping_;
  DataSource source_;
  ResumePoint resumed_;
  Blueprint blueprint_;
  std::optional<Forecast> forecast_;  // until the report has it
  Pipeline pipeline_;
  Saver saver_;
  Checkpointing checkpoints_;
  int64_t attempt_, until_;
  std::optional<Error> unsaved_;  // why the last checkpoint could not be written
  RunReport report_;
  TraceRecorder trace_;
  std::optional<Step> step_;               // made when the weights are what training starts from
  std::optional<Batches> batches_;         // of training
  std::unique_ptr<PartnerCopies> copies_;  // null: there are none
  bool copies_fail_ = false;               // making them has failed, and no more are made
  int left_out_in_a_row_ = 0;
  std::string doubted_;  // why the run is to end after this step: an audit that was corrected
  boost::container::static_vector<StepRecord, 2> timed_;  // what clocks know of steps not settled
  StepRecord last_;                                       // the last step that is settled
  int64_t rolled_back_ = 0;
};

}  // namespace penstock
