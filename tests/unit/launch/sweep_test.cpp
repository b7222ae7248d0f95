// `penstock sweep` without ranks: the sweep file, the points it makes, and the words they are
// started by. Whole sweeps: tests/distributed/sweep_test.cpp.
#include <fstream>

#include "helpers.h"
#include "launch/program/sweep/batch/job_script.h"
#include "launch/program/sweep/batch/node_hours.h"
#include "launch/program/sweep/directory.h"
#include "launch/program/sweep/host_cores.h"
#include "launch/program/sweep/launch_words.h"
#include "launch/program/sweep/sweep_command.h"
#include "runtime/system/files/input_file.h"
#include "tests/support/temporary_folder.h"

namespace penstock {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

constexpr const char* kBase = R"([model]
kind = "mlp"
image = [1, 4, 4]
hidden_layers = [16, 16]
classes = 4
[data]
kind = "synthetic"
[pipeline]
micro_batches = 8
micro_batch_size = 2
[run]
threads = 1
measure_processor = false
)";

std::string text_in(const std::string& path) {
  return read_text(path, 1 << 20, FileOwner::User);
}

class Sweeps : public testing::Test {
 protected:
  [[nodiscard]] SweepFile sweep_of(const std::string& text) const {
    return parse_sweep_file("[sweep]\nrun = \"base.toml\"\n" + text, folder_ / "s.toml");
  }
  [[nodiscard]] DrawnSweep drawn(const std::string& text) const {
    return draw_sweep(sweep_of(text), built_in_models());
  }
  // What is said of the file, without its folder.
  [[nodiscard]] std::string refusal(const std::string& text) const {
    const std::string said = input_error([&] { (void)drawn(text); });
    const std::string path = folder_ / "s.toml";
    return said.starts_with(path) ? "s.toml" + said.substr(path.size()) : said;
  }
  [[nodiscard]] static std::vector<std::string> names_of(const DrawnSweep& sweep) {
    std::vector<std::string> names;
    for (const SweepPoint& point : sweep.record.points) {
      names.push_back(point.name + (point.skipped.empty() ? "" : " skipped"));
    }
    return names;
  }

  TemporaryFolder folder_;
  std::string base_ = folder_.write("base.toml", kBase);
};

TEST_F(Sweeps, TheGridMakesThePoints) {
  const DrawnSweep sweep = drawn(
      "ranks = [1, 2]\n[set]\nsteps = 7\n[grid]\nstages = [1, 2]\nschedule = [\"gpipe\", "
      "\"1f1b\"]\n");
  EXPECT_THAT(names_of(sweep), ElementsAre("k1-d1-m8-gpipe", "k1-d2-m4-gpipe", "k1-d1-m8-1f1b",
                                           "k1-d2-m4-1f1b", "k2-d1-m8-gpipe", "k2-d1-m8-1f1b"));
  const Config& last = sweep.configs.back();
  EXPECT_EQ(last.pipeline.stages, 2);
  EXPECT_EQ(last.pipeline.schedule, "1f1b");
  EXPECT_EQ(last.run.steps, 7);
  const SweepPoint& point = sweep.record.points.back();
  ASSERT_TRUE(point.planned);
  EXPECT_GT(point.planned->step_s, 0);
  EXPECT_GT(point.planned->bubble, 0);
  EXPECT_GT(point.planned->peak_bytes, 0);
}

// A note once counted pairs of a combination and a number of ranks, whatever the others made of it.
TEST_F(Sweeps, CombinationsThatNoNumberOfRanksFitsAreCountedOnce) {
  const DrawnSweep all = drawn("ranks = [1, 2]\n[grid]\nstages = [1, 2]\nthreads = [1, 2]\n");
  EXPECT_EQ(all.record.points.size(), 6U);
  EXPECT_THAT(all.notes, Not(Contains(HasSubstr("sweep.ranks"))));
  const DrawnSweep some = drawn("ranks = [1, 2]\n[grid]\nstages = [1, 3]\nthreads = [1, 2]\n");
  EXPECT_EQ(some.record.points.size(), 4U);
  EXPECT_THAT(some.notes, Contains("no pipeline on any of sweep.ranks, and so left out: 2 "
                                   "combinations of the grid"));
  std::string many = "0";
  for (int i = 1; i <= 2048; ++i) many += ", " + std::to_string(i);
  EXPECT_THAT(refusal("ranks = [1, 2]\n[grid]\nseed = [" + many + "]\n"),
              HasSubstr("the grid and sweep.ranks have 4098 combinations, more than 4096"));
}

TEST_F(Sweeps, PointsThatAreShorterThanTwoWarmUpsAreTold) {
  const std::string grid = "[grid]\nstages = [1, 2]\n";
  const auto notes = [&](const char* steps) {
    return drawn("warmup = 4\n[set]\nsteps = " + std::string(steps) + "\n" + grid).notes;
  };
  EXPECT_THAT(notes("7"), ElementsAre(AllOf(HasSubstr("takes 7 steps, of which 3"),
                                            HasSubstr("sweep.warmup = 4"),
                                            HasSubstr("run.steps = 8 or more"))));
  EXPECT_THAT(notes("8"), ElementsAre());
}

TEST_F(Sweeps, TakesItsStepsWhereTheRunFileHasEpochs) {
  folder_.write("base.toml", std::string(kBase) + "epochs = 2\n");
  EXPECT_THAT(input_error([&] { (void)drawn("[grid]\nstages = [1]\n"); }),
              AllOf(HasSubstr("base.toml:14: 'run.epochs' is not for a sweep"),
                    HasSubstr("give run.steps in [set]")));
  EXPECT_EQ(drawn("[set]\nsteps = 7\n[grid]\nstages = [1]\n").record.points[0].steps, 7);
  EXPECT_EQ(drawn("[grid]\nsteps = [5]\n").record.points[0].steps, 5);
  EXPECT_THAT(refusal("[grid]\nepochs = [1]\n"), HasSubstr("run.steps says how long"));
}

TEST_F(Sweeps, ReplaceNothingWhateverTheRunFileSays) {
  folder_.write("base.toml", std::string(kBase) + "overwrite = true\n");
  EXPECT_FALSE(drawn("[grid]\nstages = [1]\n").configs.at(0).run.overwrite);
}

TEST_F(Sweeps, HaveNoPatience) {
  folder_.write("base.toml", std::string(kBase) + "patience = 2\n");
  EXPECT_THAT(input_error([&] { (void)drawn("[grid]\nstages = [1]\n"); }),
              AllOf(HasSubstr("base.toml:14: 'run.patience' is not for a sweep"),
                    HasSubstr("give run.patience = 0 in [set]")));
  EXPECT_EQ(drawn("[set]\nrun.patience = 0\n[grid]\nstages = [1]\n").record.points.size(), 1U);
}

TEST_F(Sweeps, OtherKeysMakeGroupsAndWeakScalingGrows) {
  const DrawnSweep sweep = drawn(
      "scaling = \"weak\"\n[grid]\nreplicas = [1, 2]\nrun.seed = [1, 2]\npipeline.recompute = "
      "[\"none\"]\n");
  EXPECT_THAT(
      names_of(sweep),
      ElementsAre("k1-d1-m8-1f1b-seed-1-recompute-none", "k1-d1-m8-1f1b-seed-2-recompute-none",
                  "k1-d2-m8-1f1b-seed-1-recompute-none", "k1-d2-m8-1f1b-seed-2-recompute-none"));
  EXPECT_EQ(sweep.record.points[1].group, "run.seed 2");
  EXPECT_EQ(sweep.record.points[3].sizes.mini_batch(), 32);
}

TEST_F(Sweeps, RepeatsHaveOneSeedOrTheNext) {
  const std::string grid = "repeats = 3\n[set]\nseed = 5\n[grid]\nstages = [1, 2]\n";
  const DrawnSweep fixed = drawn(grid);
  EXPECT_EQ(fixed.record.points.size(), 2U);
  EXPECT_EQ(config_of_run(fixed, 1, 3).run.seed, 5U);
  const DrawnSweep varied = drawn("seeds = \"varied\"\n" + grid);
  EXPECT_EQ(config_of_run(varied, 1, 1).run.seed, 5U);
  EXPECT_EQ(config_of_run(varied, 1, 3).run.seed, 7U);
  EXPECT_EQ(seed_of(varied.record, varied.record.points[1], 3), 7U);
  EXPECT_THAT(refusal("seeds = \"varied\"\n[grid]\nseed = [1, 2]\n"),
              AllOf(HasSubstr("s.toml:5: 'run.seed' is in the grid"), HasSubstr("sweep.seeds")));

  const std::string out = folder_ / "out";
  { const SweepDirectory directory(out, varied); }
  for (const char* run : {"k2-d1-m8-1f1b", "k2-d1-m8-1f1b-r2", "k2-d1-m8-1f1b-r3"}) {
    EXPECT_TRUE(std::filesystem::exists(out + "/points/" + run + "/point.toml")) << run;
  }
  const std::vector<ScalingRow> rows = rows_of(out, varied.record);
  EXPECT_EQ(rows[1].runs.size(), 3U);
  // More repeats may be asked for later: the first ones stay what they are.
  const SweepDirectory more(out, drawn("seeds = \"varied\"\nrepeats = 4\n[set]\nseed = 5\n[grid]\n"
                                       "stages = [1, 2]\n"));
}

TEST_F(Sweeps, WhatCannotBeRunIsSkippedWithItsReason) {
  const DrawnSweep sweep =
      drawn("device_memory = \"1000\"\n[grid]\nstages = [1, 99]\nreplicas = [1, 3]\n");
  EXPECT_THAT(names_of(sweep), ElementsAre("k1-d1-m8-1f1b skipped", "k1-d3-m8-1f1b skipped",
                                           "k99-d1-m8-1f1b skipped", "k99-d3-m8-1f1b skipped"));
  EXPECT_THAT(sweep.record.points[0].skipped, StartsWith("needs "));
  EXPECT_THAT(sweep.record.points[1].skipped, HasSubstr("16 samples is no multiple of 3 replicas"));
  EXPECT_THAT(sweep.record.points[2].skipped, HasSubstr("99 stages need at least as many layers"));
}

TEST_F(Sweeps, AnEmptyListInTheGridIsCalledEmpty) {
  EXPECT_EQ(
      refusal("[grid]\nstages = []\n"),
      "s.toml:4: the list of 'stages' in the grid is empty: give what to try, or leave it out");
}

TEST_F(Sweeps, PointsWithAKeyThatNothingReadsAreSkipped) {
  const DrawnSweep sweep = drawn("[grid]\noptimizer.nesterov = [false, true]\n");
  ASSERT_EQ(sweep.record.points.size(), 2U);
  EXPECT_EQ(sweep.record.points[0].skipped, "");
  EXPECT_THAT(sweep.record.points[1].skipped,
              HasSubstr("'optimizer.nesterov' is read only where optimizer.kind is sgd"));
}

TEST_F(Sweeps, WhatIsWrongIsNamedWithItsLine) {
  EXPECT_THAT(refusal("stages = [1]\n"), StartsWith("s.toml:3: unknown key 'sweep.stages'"));
  EXPECT_THAT(refusal("mode = \"later\"\n"),
              StartsWith("s.toml:3: 'sweep.mode' must be \"local\" or \"batch\", not 'later'"));
  EXPECT_THAT(refusal("ranks = [0]\n"), StartsWith("s.toml:3: 'sweep.ranks' must be an integer"));
  EXPECT_THAT(refusal("[grid]\nstagse = [1]\n"),
              AllOf(StartsWith("s.toml:4: unknown key 'stagse'")));
  EXPECT_THAT(refusal("[grid]\nstages = 4\n"),
              AllOf(StartsWith("s.toml:4: "), HasSubstr("stages = [4]")));
  EXPECT_THAT(refusal("[grid]\nmodel.hidden_layers = [[8], 8]\n"),
              StartsWith("s.toml:4: 'model.hidden_layers' must be"));
  EXPECT_THAT(refusal("[grid]\nschedule = [\"gpip\"]\n"),
              AllOf(StartsWith("s.toml:4: "), HasSubstr("did you mean 'gpipe'?")));
  EXPECT_THAT(refusal("[set]\nout = \"x\"\n"),
              StartsWith("s.toml:4: 'run.out' is not for a sweep: "));
  EXPECT_THAT(refusal("[set]\nstages = 1\n[grid]\nstages = [1]\n"),
              AllOf(StartsWith("s.toml:4: 'pipeline.stages' is in the grid as well, at "),
                    HasSubstr("s.toml:6")));
  EXPECT_THAT(refusal("[set]\nthreads = 1\nrun.threads = 2\n"),
              AllOf(HasSubstr("'run.threads' is given at "), HasSubstr("by another name")));
  EXPECT_THAT(refusal("[grid]\nstages = [1]\npipeline.stages = [2]\n"),
              HasSubstr("'pipeline.stages' is given at "));
  EXPECT_THAT(refusal("mode = \n"), StartsWith("s.toml:3: not valid TOML"));
  EXPECT_THAT(refusal("[grit]\n"), AllOf(StartsWith("s.toml:3: unknown section 'grit'"),
                                         HasSubstr("did you mean 'grid'?")));
  EXPECT_THAT(refusal("device_model = \"abacus\"\n"),
              AllOf(StartsWith("s.toml:3: 'sweep.device_model': "), HasSubstr("abacus")));
  EXPECT_THAT(refusal("device_memory = \"much\"\n"),
              StartsWith("s.toml:3: 'sweep.device_memory': "));
  EXPECT_THAT(refusal("mode = \"batch\"\n"), HasSubstr("'sweep.script' is not given"));
  for (const char* of_jobs : {"submit = \"sbatch\"", "walltime = \"1:00\"", "gpus_per_node = 3",
                              "script = \"slurm.sh\""}) {
    EXPECT_THAT(refusal(std::string(of_jobs) + "\n"),
                AllOf(StartsWith("s.toml:3: 'sweep."),
                      HasSubstr("is read only where sweep.mode is \"batch\"")));
  }
  EXPECT_THAT(refusal("mode = \"batch\"\nlauncher = \"srun\"\n"),
              StartsWith("s.toml:4: 'sweep.launcher' is read only where sweep.mode is \"local\""));
}

TEST_F(Sweeps, PlotsAreOfKeysThatVary) {
  const auto plot = [&](const std::string& keys, const std::string& grid = "stages = [1, 2]\n") {
    return refusal("[plot]\n" + keys + "\n[grid]\n" + grid);
  };
  EXPECT_EQ(sweep_of("[plot]\nx = \"micro_batches\"\nlog_x = true\nbars = \"none\"\n").plot.x,
            "pipeline.micro_batches");
  EXPECT_EQ(drawn("[plot]\nseries = \"schedule\"\n[grid]\nstages = [1]\n").record.plot.series,
            "pipeline.schedule");
  EXPECT_THAT(plot("x = \"pipeline.stags\""),
              AllOf(StartsWith("s.toml:4: 'plot.x': there is no key"), HasSubstr("did you mean")));
  EXPECT_THAT(plot("bars = \"all\""), HasSubstr("s.toml:4: 'plot.bars' must be \"quartiles\""));
  EXPECT_THAT(
      plot("x = \"schedule\""),
      AllOf(StartsWith("s.toml:4: 'plot.x' is 'pipeline.schedule', and '1f1b' is no number"),
            HasSubstr("plot.series")));
  EXPECT_THAT(plot("series = \"run.seed\""),
              StartsWith("s.toml:4: 'plot.series' is 'run.seed', which the grid does not vary"));
  EXPECT_THAT(plot("x = \"model.dropout\"\nlog_x = true", "model.dropout = [0.0, 0.5]\n"),
              HasSubstr("0 has no place on a logarithmic axis"));
  EXPECT_THAT(plot("series = \"run.seed\"", "run.seed = [1, 2, 3, 4, 5, 6, 7, 8, 9]\n"),
              HasSubstr("of which there are 9 values; a plot tells 8 apart"));
}

TEST_F(Sweeps, WordsAndJobsNameThePoint) {
  SweepFile sweep = sweep_of("ranks_per_node = 4\nlauncher = \"srun -n{ranks} -N {nodes}\"\n");
  const SweepPoint point{.name = "k6", .sizes = {.stages = 6}};
  EXPECT_THAT(local_words(sweep, {point}, {"/bin/penstock", "/s/points/k6"}),
              ElementsAre("srun", "-n6", "-N", "2", "/bin/penstock", "train",
                          "/s/points/k6/point.toml", "--out", "/s/points/k6", "--resume", "auto"));
  EXPECT_THAT(input_error([&] { (void)run_words("sbatch {node}", sweep, {point}); }),
              HasSubstr("{ranks_per_node}"));
  sweep.ranks_per_node = 5;
  EXPECT_EQ(nodes_of(sweep, point)->ranks_per_node, 3);
  const JobScript job =
      job_script("#!/bin/bash\n#SBATCH --nodes=7\nset -u\n# more\n",
                 {.nodes = 2, .ranks_per_node = 3}, {point, 2}, {"/bin/penstock", "/s/k6-r2"});
  EXPECT_THAT(job.text, StartsWith("#!/bin/bash\n#SBATCH --nodes=2\n#SBATCH --ntasks-per-node=3\n"
                                   "# Written by penstock sweep: the run k6-r2"));
  EXPECT_THAT(job.text, HasSubstr("\nset -- /s/k6-r2/point.toml --out /s/k6-r2\nset -u\n# more\n"));
  EXPECT_EQ(job.submit, "sbatch /s/k6-r2/job.sh");
  for (const char* out : {"/a b", "/a;b", "/a$b", "/a&b", "/a*b"}) {
    EXPECT_THAT(input_error([&] {
                  (void)job_script("#!/bin/sh\ntrue\n", {}, {point}, {"/p", out});
                }),
                HasSubstr("without blanks, quotes"));
  }
  EXPECT_THAT(input_error([&] { (void)run_words(" ", sweep, {point}); }),
              HasSubstr("nothing but blanks"));
  for (const char* command : {"<", "bsub <job", "bsub < -n 4"}) {
    EXPECT_THAT(input_error([&] { (void)run_words(command, sweep, {point}); }),
                HasSubstr("a `<` is the last word of sweep.submit"));
  }
  EXPECT_EQ(run_words("bsub -n {ranks} <", sweep, {point}).back(), "<");
}

TEST_F(Sweeps, ADirectoryIsOfOneSweepWithOneSetOfSettings) {
  const std::string out = folder_ / "out";
  const std::string grid = "[grid]\nstages = [1, 2]\n";
  { const SweepDirectory first(out, drawn(grid)); }
  // More points are welcome; other settings of one that is there are not, and change nothing.
  { const SweepDirectory more(out, drawn("[grid]\nstages = [1, 2]\nreplicas = [1, 2]\n")); }
  EXPECT_EQ(read_sweep(out).points.size(), 4U);
  EXPECT_THAT(
      input_error([&] { const SweepDirectory other(out, drawn("[set]\nsteps = 3\n" + grid)); }),
      AllOf(HasSubstr("k1-d1-m8-1f1b/point.toml is of a run with other settings"),
            HasSubstr("'steps = 100' there, 'steps = 3' now")));
  EXPECT_EQ(read_sweep(out).points.size(), 4U);
  EXPECT_THAT(input_error([&] { const SweepDirectory alien(folder_.path(), drawn(grid)); }),
              HasSubstr("is no sweep, and has "));
}

// The scripts that come with Penstock, each asking for two nodes of three ranks and two GPUs, for
// 90 minutes, and the lines that submit them.
TEST(SweepJobs, AskForTheirOwnNodesRanksGpusAndTime) {
  const JobSize size{.nodes = 2, .ranks_per_node = 3, .gpus_per_node = 2, .time_s = 5400};
  const auto head = [&](const char* script) {
    const std::string text = text_in(PENSTOCK_BATCH + std::string("/") + script);
    return job_head(text.substr(0, text.find("\nset -u") + 1), size);
  };
  const std::string slurm = head("slurm.sh");
  EXPECT_THAT(slurm, AllOf(HasSubstr("\n#SBATCH --nodes=2\n#SBATCH --ntasks-per-node=3\n#SBATCH "
                                     "--gpus-per-node=2\n#SBATCH --time=1:30:00\n"),
                           HasSubstr("\n#SBATCH --cpus-per-task=8\n"),
                           Not(HasSubstr("ntasks-per-node=4")), Not(HasSubstr("04:00:00"))));
  EXPECT_EQ(submit_line(slurm, "j"), "sbatch j");
  const std::string pbs = head("pbs.sh");
  EXPECT_THAT(pbs, AllOf(HasSubstr("\n#PBS -l select=2:ncpus=32:mpiprocs=3:ngpus=2\n#PBS -l "
                                   "walltime=1:30:00\n"),
                         Not(HasSubstr("\n#PBS -l walltime=04"))));
  EXPECT_EQ(submit_line(pbs, "j"), "qsub j");
  EXPECT_THAT(job_head("#!/bin/sh\n#PBS -l nodes=7:ppn=4\n", size),
              StartsWith("#!/bin/sh\n#PBS -l nodes=2:ppn=3:gpus=2\n"));
  const std::string lsf = head("lsf.sh");
  EXPECT_THAT(lsf,
              AllOf(HasSubstr("\n#BSUB -n 6\n#BSUB -R \"span[ptile=3] affinity[core(8)]\"\n#BSUB "
                              "-gpu \"num=2:mode=shared\"\n#BSUB -W 1:30\n"),
                    Not(HasSubstr("ptile=4")), HasSubstr("\n#BSUB -wa USR1\n")));
  EXPECT_EQ(submit_line(lsf, "j"), "bsub <j");
  const std::string flux = head("flux.sh");
  EXPECT_THAT(flux, AllOf(HasSubstr("\n#FLUX: --nodes=2\n"), HasSubstr("\n#FLUX: --nslots=2\n"),
                          HasSubstr("\n#FLUX: --gpus-per-slot=2\n#FLUX: --time-limit=5400s\n"),
                          Not(HasSubstr("=4h"))));
  EXPECT_EQ(submit_line(flux, "j"), "flux batch j");
  EXPECT_EQ(job_head("#!/bin/sh\n# mine\n", size), "#!/bin/sh\n# mine\n");
  EXPECT_EQ(submit_line("#!/bin/sh\n", "j"), "j");
  // What the sweep does not say stays as it is.
  EXPECT_THAT(job_head("#SBATCH --time=7:00\n#SBATCH --gres=gpu:8\n", {}),
              AllOf(HasSubstr("--time=7:00\n"), HasSubstr("--gres=gpu:8\n")));
}

TEST_F(Sweeps, TellNodeHoursBeforeTheyAreSpent) {
  const SweepFile sweep = sweep_of(
      "mode = \"batch\"\nscript = \"base.toml\"\nranks_per_node = 2\n"
      "walltime = \"0:30:00\"\n");
  std::vector<SweepPoint> points(2);
  points[0] = {.name = "a", .sizes = {.stages = 2}, .steps = 100};
  points[1] = {.name = "b", .sizes = {.stages = 4}, .steps = 100};
  for (SweepPoint& point : points) point.planned = PointForecast{.step_s = 36};
  const Outcome done{.state = PointState::Finished, .steps = 100};
  // An hour on one node, twice an hour on two.
  EXPECT_THAT(node_hours_text(sweep, scaling_rows(points, {{{}, done}, {{}, {}}})),
              AllOf(StartsWith("3 jobs to come: about 5 node-hours"), HasSubstr("at most 2.5 in")));
  points[0].planned.reset();
  EXPECT_THAT(node_hours_text(sweep, scaling_rows(points, {{{}}, {{}}})),
              HasSubstr("node-hours are not known"));
  EXPECT_THAT(refusal("walltime = \"soon\"\n"), StartsWith("s.toml:3: 'sweep.walltime' must be"));
}

TEST_F(Sweeps, TellOfHostsWithFewerCoresThanRanks) {
  const DrawnSweep sweep = drawn("[grid]\nstages = [1, 2]\nreplicas = [1, 2]\n");
  const auto note = core_note(sweep, 3);
  ASSERT_TRUE(note);
  EXPECT_THAT(*note, StartsWith("k2-d2-m4-1f1b has 4 ranks of 1 thread, and this host 3 cores"));
  EXPECT_FALSE(core_note(sweep, 4));
}

TEST_F(Sweeps, SayWhichKeysOfTheRunFileTheyDoNotFollow) {
  folder_.write("base.toml", std::string(kBase) + "out = \"runs/x\"\n");
  EXPECT_THAT(drawn("[grid]\nstages = [1]\n").notes,
              ElementsAre(AllOf(HasSubstr("base.toml:14: 'run.out' is not followed"))));
  folder_.write("base.toml", std::string(kBase) + "dry_run = true\n");
  EXPECT_THAT(input_error([&] { (void)drawn("[grid]\nstages = [1]\n"); }),
              HasSubstr("base.toml:14: 'run.dry_run' is for [set]"));
  EXPECT_THAT(refusal("[grid]\ndry_run = [true]\n"), HasSubstr("'run.dry_run' is for [set]"));
}

// The sweep was listed, and refused only when it was submitted.
TEST_F(Sweeps, ListNothingWithACommandThatMeansNothing) {
  const std::string file = folder_.write(
      "s.toml",
      "[sweep]\nrun = \"base.toml\"\nlauncher = \"mpirun -n {bogus}\"\n[grid]\nstages = [1]\n");
  EXPECT_THAT(
      input_error([&] {
        (void)sweep_command({file, "--dry"}, built_in_models());
      }),
      HasSubstr("s.toml: '{bogus}' of 'mpirun -n {bogus}' means nothing here: there are {ranks}"));
}

// The batch system here prints what it was given.
TEST_F(Sweeps, JobsAreSubmittedOnce) {
  const std::string out = folder_ / "out";
  const std::string file =
      folder_.write("batch.toml",
                    "[sweep]\nrun = \"base.toml\"\nmode = \"batch\"\nscript = \"job.sh\"\n"
                    "submit = \"echo took {name} {ranks}\"\n[grid]\nstages = [1, 2]\n");
  folder_.write("job.sh", "#!/bin/bash\n#SBATCH --nodes=2\necho \"$@\"\n");
  const auto run = [&](const char* more) {
    testing::internal::CaptureStdout();
    EXPECT_EQ(sweep_command({file, "--out", out, more}, built_in_models()), 0);
    return testing::internal::GetCapturedStdout();
  };
  EXPECT_THAT(run("--again"),
              AllOf(HasSubstr("k1-d1-m8-1f1b: took k1-d1-m8-1f1b 1 "),
                    HasSubstr("k2-d1-m8-1f1b: took k2-d1-m8-1f1b 2 "),
                    HasSubstr("/points/k2-d1-m8-1f1b/job.sh"), HasSubstr("| submitted |")));
  EXPECT_THAT(run("--again=false"), Not(HasSubstr("took")));
  EXPECT_THAT(run("--again"), HasSubstr("took k1-d1-m8-1f1b 1 "));
  EXPECT_THAT(run("--dry"),
              AllOf(HasSubstr("planned step, ms"), HasSubstr("2 jobs to come: about ")));
}

TEST_F(Sweeps, JobsWithoutASubmitCommandComeWithTheLineToType) {
  folder_.write("base.toml", std::string(kBase) + "time_limit = \"0:20:00\"\n");
  folder_.write("job.sh", "#!/bin/bash\n#PBS -l walltime=1:00:00\necho \"$@\"\n");
  const std::string file = folder_.write("batch.toml",
                                         "[sweep]\nrun = \"base.toml\"\nmode = \"batch\"\nscript = "
                                         "\"job.sh\"\n[grid]\nstages = [1]\n");
  const std::string out = folder_ / "out";
  const auto run = [&](const std::vector<std::string>& words) {
    testing::internal::CaptureStdout();
    EXPECT_EQ(sweep_command(words, built_in_models()), 0);
    return testing::internal::GetCapturedStdout();
  };
  EXPECT_THAT(run({file, "--out", out}),
              HasSubstr("\nqsub " + out + "/points/k1-d1-m8-1f1b/job.sh\n"));
  // pbs.sh would give the job's walltime in its place.
  EXPECT_THAT(text_in(out + "/points/k1-d1-m8-1f1b/job.sh"), HasSubstr(" --time-limit 0:20:00\n"));
  EXPECT_THAT(run({out, "--report"}), HasSubstr(out + "/report.html has all of it"));
  const std::string page = text_in(out + "/report.html");
  EXPECT_THAT(page, AllOf(HasSubstr("<td>k1-d1-m8-1f1b</td>"), HasSubstr("<svg "),
                          HasSubstr("strong scaling, mini-batch 16")));

  // A dry run is a sweep of its own, of the same points.
  const std::string dry =
      folder_.write("dry.toml",
                    "[sweep]\nrun = \"base.toml\"\nmode = \"batch\"\nscript = \"job.sh\"\n[set]\n"
                    "dry_run = true\n[grid]\nstages = [1]\n");
  EXPECT_THAT(run({dry, "--out", out}), HasSubstr("run.dry_run: nothing is trained"));
  const std::string point = out + ".dry-run/points/k1-d1-m8-1f1b";
  EXPECT_THAT(text_in(point + "/job.sh"), HasSubstr(" --dry-run --time-limit 0:20:00\n"));
  EXPECT_EQ(text_in(point + "/point.toml"), text_in(out + "/points/k1-d1-m8-1f1b/point.toml"));
  std::filesystem::create_directory(point + ".dry-run");
  std::ofstream(point + ".dry-run/dry_run.json") << "{}";
  EXPECT_EQ(rows_of(out + ".dry-run", read_sweep(out + ".dry-run"))[0].outcome.state,
            PointState::Finished);
}

}  // namespace
}  // namespace penstock
