// Audits of whole runs: what is executed twice changes nothing, bits that a test has changed are
// found and named, and a run goes on as if they had not been.
#include <signal.h>

#include <cstdlib>
#include <filesystem>
#include <sstream>

#include "tests/distributed/program.h"

namespace penstock {
namespace {

using testing::HasSubstr;
using testing::Not;

// Changes bits in the runs that start while it lives.
class Flips {
 public:
  explicit Flips(const std::string& list) { setenv("PENSTOCK_BIT_FLIPS", list.c_str(), 1); }
  ~Flips() { unsetenv("PENSTOCK_BIT_FLIPS"); }
  Flips(const Flips&) = delete;
  Flips& operator=(const Flips&) = delete;
};

class AuditedRun : public Program {
 protected:
  struct Done {
    JobResult job;
    Trajectory trajectory;
  };
  Done run(int ranks, const std::string& name, const std::string& options,
           const std::string& text = kSmall) {
    const std::string out = scratch_ / name;
    Done done{
        run_penstock(ranks, "train " + file(text) + " --overwrite --out " + out + " " + options),
        {}};
    if (done.job.exit_code == 0) done.trajectory = read_trajectory(out);
    return done;
  }
  void expect_same(const Done& a, const Done& b) {
    ASSERT_EQ(a.job.exit_code, 0) << a.job.output;
    ASSERT_EQ(b.job.exit_code, 0) << b.job.output;
    EXPECT_EQ(a.trajectory.losses, b.trajectory.losses);
    EXPECT_EQ(a.trajectory.gradient_norms, b.trajectory.gradient_norms);
    EXPECT_EQ(a.trajectory.tensors, b.trajectory.tensors);
  }
};

// One micro-batch on one rank: every instruction is audited in every step.
const std::string kAll = "--micro-batches 1 --run.audit 1 ";

TEST_F(AuditedRun, ChangesNoBit) {
  struct Case {
    int ranks;
    std::string options;
  };
  const std::vector<Case> cases = {
      {1, "--stages 1 --recompute none"},
      {2, "--stages 2 --recompute stage --schedule gpipe"},
      {2, "--stages 2 --recompute layer --model.dropout 0.1"},
      {2, "--stages 2 --schedule zb-h1 --micro-batches 4"},
      {2, "--stages 1 --replicas 2 --pipeline.reduction exact --optimizer.kind adamw"},
      {4, "--stages 2 --replicas 2 --micro-batches 3 --optimizer.sharded false"},
      {2, "--stages 4 --schedule interleaved-1f1b --pipeline.chunks 2 --model.layers 4"}};
  for (const Case& one : cases) {
    const Done plain = run(one.ranks, "plain", one.options);
    const Done audited = run(one.ranks, "audited", one.options + " --run.audit 1");
    expect_same(plain, audited);
    EXPECT_THAT(audited.job.output, Not(HasSubstr("differs"))) << one.options;
  }
}

// Rows of 600 words against that vocabulary are more logits than are computed at once, so the loss
// is made by the backward.
const std::string kManyLogits =
    kAll + "--model.context 600 --model.vocabulary 33000 --micro-batch-size 1 --steps 3 ";

TEST_F(AuditedRun, OfALossInPiecesChangesNoBitAndFindsOne) {
  for (const std::string mode : {"none", "stage"}) {
    const std::string options = kManyLogits + "--recompute " + mode;
    const Done plain = run(1, "plain", options + " --run.audit 0");
    expect_same(plain, run(1, "audited", options));
    const Flips flips("0 2 B0.0 1 500 22");
    const Done done = run(1, "flipped", options);
    EXPECT_EQ(done.job.exit_code, 3) << done.job.output;
    EXPECT_THAT(done.job.output, HasSubstr("step 2: rank 0 (host "));
  }
}

TEST_F(AuditedRun, StopsAtABitOfAForwardAndNamesIt) {
  const Flips flips("0 3 F0.0 5 17 12");
  const Done done = run(1, "run", kAll);
  EXPECT_EQ(done.job.exit_code, 3) << done.job.output;
  EXPECT_THAT(done.job.output, HasSubstr("bit flip: rank 0, step 3, F0.0, result 5"));
  EXPECT_THAT(done.job.output, HasSubstr("step 3: rank 0 (host "));
  EXPECT_THAT(done.job.output, HasSubstr("F0.0, executed twice, differs in what it made"));
  EXPECT_THAT(done.job.output, HasSubstr("the state of step 2 is sound, and saved"));
  EXPECT_TRUE(std::filesystem::exists(scratch_ / "run/checkpoints/step-00000002"));
}

TEST_F(AuditedRun, TakesTheStepAgainWithTheBitsOfAnUndisturbedRun) {
  const std::string options = kAll + "--stages 2 --run.on_corruption retry";
  const Done undisturbed = run(2, "undisturbed", options);
  const Flips flips("1 3 F1.0 4 3 20,0 4 B0.0 7 100 22,1 5 R1.0 2 9 18,1 6 B1.0 3 5 21");
  const Done disturbed = run(2, "disturbed", options);
  expect_same(undisturbed, disturbed);
  EXPECT_THAT(disturbed.job.output, HasSubstr("step 3: rank 1 (host "));
  EXPECT_THAT(disturbed.job.output, HasSubstr("step 4: rank 0 (host "));
  EXPECT_THAT(disturbed.job.output, HasSubstr("the first execution of F1.0 was wrong"));
}

TEST_F(AuditedRun, NamesAWeightAndAStateThatChangedInMemory) {
  for (const std::string kept : {"weight", "state"}) {
    const Flips flips("0 3 B0.0 " + kept + " 40 13");
    const Done done = run(1, "run", kAll + "--optimizer.kind adam");
    EXPECT_EQ(done.job.exit_code, 3) << done.job.output;
    EXPECT_THAT(done.job.output, HasSubstr("has changed in memory while nothing wrote to it"));
    EXPECT_THAT(done.job.output, HasSubstr("nothing was saved: checkpoints up to step 2"));
    EXPECT_FALSE(std::filesystem::exists(scratch_ / "run/checkpoints/step-00000003"));
  }
}

// A flipped weight is noticed at the next audit, which compares the replicas: steps in between are
// not audited.
TEST_F(AuditedRun, NamesTheReplicaWhoseWeightsAreNotTheOthers) {
  const Flips flips("1 3 F0.0 weight 7 13");
  const Done done = run(3, "run", "--replicas 3 --run.audit 4 --optimizer.sharded false");
  EXPECT_EQ(done.job.exit_code, 3) << done.job.output;
  EXPECT_THAT(done.job.output, HasSubstr("step 4: rank 1 (host "));
  EXPECT_THAT(done.job.output, HasSubstr("has other bits than in most other replicas"));
  EXPECT_THAT(done.job.output, Not(HasSubstr("; rank ")));
}

// The first results of an Audit are those of this rank's own work, the last ones those of the
// replica's before it.
TEST_F(AuditedRun, AsksAnotherReplica) {
  const std::string options = kAll + "--replicas 2 --run.on_corruption retry";
  const Done undisturbed = run(2, "undisturbed", options);
  const Flips flips("1 3 AUD 10 5 11,1 4 AUD 105 5 11");
  const Done disturbed = run(2, "disturbed", options);
  expect_same(undisturbed, disturbed);
  EXPECT_THAT(disturbed.job.output, HasSubstr("rank 1: the second execution of "));
  EXPECT_THAT(disturbed.job.output, HasSubstr("step 4: rank 1 (host "));
  EXPECT_THAT(disturbed.job.output,
              HasSubstr(" of replica 0, executed twice there and once here, differs in "));
}

TEST_F(AuditedRun, ExcludesAHostAndTheNextStartSaysSo) {
  {
    const Flips flips("0 3 F0.0 5 17 12");
    const Done done = run(1, "run", kAll + "--run.on_corruption exclude");
    EXPECT_EQ(done.job.exit_code, 75) << done.job.output;
    EXPECT_THAT(done.job.output, Not(HasSubstr("an audit has found wrong bits on ")));
  }
  EXPECT_NE(read_file(scratch_ / "run/excluded_hosts").find('\n'), std::string::npos);
  EXPECT_THAT(run(1, "run", kAll).job.output, HasSubstr("an audit has found wrong bits on "));
}

TEST_F(AuditedRun, OfAFinishedRunSaysWhereBitsPart) {
  const std::string out = scratch_ / "run";
  ASSERT_EQ(run(1, "run", "--checkpoint.every 2 --checkpoint.keep 0").job.exit_code, 0);
  const JobResult same = run_penstock(2, "audit " + out + " --stages 2 --from 2");
  EXPECT_EQ(same.exit_code, 0) << same.output;
  EXPECT_THAT(same.output, HasSubstr("6 lines of metrics.jsonl: the same to the last bit"));
  EXPECT_THAT(same.output, HasSubstr("step-00000008: all tensors have the same bits"));
  const Flips flips("0 5 B0.0 4 5 21");
  const JobResult other = run_alone("audit " + out + " --from 2");
  EXPECT_EQ(other.exit_code, 1) << other.output;
  EXPECT_THAT(other.output, HasSubstr("step-00000004: all tensors have the same bits"));
  EXPECT_THAT(other.output, HasSubstr("step 5 is the first that differs: grad_norm was "));
  EXPECT_THAT(other.output, HasSubstr("step-00000006: "));
  EXPECT_THAT(other.output, HasSubstr(" tensors differ\n  "));
  EXPECT_THAT(other.output, Not(HasSubstr("step-00000008")));
  for (const std::string& loss :
       {" --into " + out + "/.", " --out " + out, std::string(" --overwrite")}) {
    const JobResult refused = run_alone("audit " + out + " --from 0" + loss);
    EXPECT_EQ(refused.exit_code, 2) << refused.output;
  }
  EXPECT_EQ(run_alone("audit " + out + " --into " + out + ".audit").exit_code, 2);
  EXPECT_TRUE(std::filesystem::exists(out + "/checkpoints/step-00000002"));
  const JobResult none = run_alone("audit " + out + " --from 3");
  EXPECT_EQ(none.exit_code, 2);
  EXPECT_THAT(none.output,
              HasSubstr("has no checkpoint of step 3: it has those of steps 2, 4, 6, 8"));
}

// Steps that the run did not take have nothing to be compared with.
TEST_F(AuditedRun, OfAStoppedRunEndsWhereThatRunEnded) {
  const std::string out = scratch_ / "run";
  const std::string keys = "--checkpoint.every 2 --checkpoint.keep 0 --optimizer.schedule cosine";
  ASSERT_EQ(run(1, "run", keys).job.exit_code, 0);
  // Files are now as a run that was killed after step 5 leaves them: run.toml says eight steps.
  std::istringstream lines(read_file(out + "/metrics.jsonl"));
  std::string kept;
  for (std::string line; std::getline(lines, line);) {
    if (nlohmann::json::parse(line).at("step") <= 5) kept += line + "\n";
  }
  (void)scratch_.write("run/metrics.jsonl", kept);
  for (const char* step : {"step-00000006", "step-00000008"}) {
    std::filesystem::remove_all(out + "/checkpoints/" + step);
  }
  const JobResult stopped = run_alone("audit " + out);
  EXPECT_EQ(stopped.exit_code, 0) << stopped.output;
  EXPECT_THAT(stopped.output, HasSubstr("3 lines of metrics.jsonl: the same to the last bit"));
  EXPECT_THAT(stopped.output, HasSubstr("step-00000004: all tensors have the same bits"));
  EXPECT_EQ(read_trajectory(out + ".audit").losses.size(), 3U);
  expect_refusal(1, "audit " + out + " --from -1", 2, {"has no checkpoint of step -1"});
  kept.resize(kept.rfind('\n', kept.size() - 2) + 1);  // up to step 4
  (void)scratch_.write("run/metrics.jsonl", kept);
  expect_refusal(1, "audit " + out + " --from 4", 2, {"ends with step 4", "no step after it"});
  expect_refusal(1, "audit " + out + "/checkpoints", 2, {"is not the directory of a run"});
  expect_refusal(1, "audit " + out + " --resume auto", 2,
                 {"--resume: audit begins with", "--from"});
  expect_refusal(1, "audit " + out + " --into " + out + ".audit", 2, {"has the results of a run"});
  expect_refusal(1, "audit " + out + " --stages 2", 2, {"there is 1: start by", "-n 2, or change"});
  expect_refusal(1, "audit " + out + "/run.toml", 2, {"the directory of a run", "is a file"});
  expect_refusal(1, "audit " + out + "/checkpoints/step-00000004", 2,
                 {"is a checkpoint: audit takes the directory of its run, " + out});
}

TEST_F(AuditedRun, TakenAgainAndStoppedSaysThatNothingWasCompared) {
  const std::string out = scratch_ / "my run";
  const std::string trained = "train " + file(kSmall) + " --steps 1500 --out '" + out + "'";
  ASSERT_EQ(run_alone(trained).exit_code, 0);
  // Checkpoints after each step take the time in which the signal comes.
  const JobResult job =
      run_and_signal(1, "audit '" + out + "' --checkpoint.every 1 --into " + scratch_ / "again",
                     scratch_ / "again", SIGTERM, 0);
  EXPECT_EQ(job.exit_code, 75) << job.output;
  EXPECT_THAT(job.output, HasSubstr("nothing was compared; to take them again: "));
  EXPECT_THAT(job.output, HasSubstr("penstock audit '" + out + "' --checkpoint.every 1 --into"));
  EXPECT_THAT(job.output, Not(HasSubstr("penstock train")));
}

// Bits part where settings do, on machines without any fault.
TEST_F(AuditedRun, OfARunWhoseSettingsChangedSaysSo) {
  const std::string out = scratch_ / "run";
  const std::string every = " --checkpoint.every 2 --checkpoint.keep 0";
  ASSERT_EQ(run(1, "run", "--steps 5" + every).job.exit_code, 0);
  const std::string on = every + " --optimizer.weight_decay 0.5 --out ";
  const JobResult changed = run_alone("train " + file(kSmall) + " --resume auto" + on + out);
  ASSERT_EQ(changed.exit_code, 0) << changed.output;
  const JobResult differs = run_alone("audit " + out + " --from 2");
  EXPECT_EQ(differs.exit_code, 1);
  EXPECT_THAT(differs.output, HasSubstr("attempt 1 took it, and run.toml has the settings of "
                                        "attempt 2"));
  EXPECT_EQ(run_alone("audit " + out + " --from 6").exit_code, 0);
  // A run that began from another one's checkpoint never took the steps before.
  const JobResult other = run_alone("train " + file(kSmall) + " --resume " + out +
                                    "/checkpoints/step-00000006" + on + out + "2");
  ASSERT_EQ(other.exit_code, 0) << other.output;
  expect_refusal(1, "audit " + out + "2 --from 0", 2,
                 {"went on from another run's checkpoint and begins with step 7"});
}

TEST_F(AuditedRun, IsRefusedWithoutABarrier) {
  expect_refusal(1, train("--run.audit 2 --optimizer.barrier false"), 2,
                 {"run.audit", "optimizer.barrier"});
}

TEST_F(AuditedRun, RefusesFlipsThatItCannotRead) {
  const Flips flips("0 3 F0.0 five 17 12");
  expect_refusal(1, train("--run.audit 2"), 2, {"PENSTOCK_BIT_FLIPS", "'five'", "is not a number"});
  const Flips more("0 3 F0.0 5 17 12 0 4 F0.0 5 17 12");
  expect_refusal(1, train("--run.audit 2"), 2, {"PENSTOCK_BIT_FLIPS", "'0'", "one too many"});
}

}  // namespace
}  // namespace penstock
