// launch/program/options/help.cpp -- see help.h.
#include "launch/program/options/help.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "launch/program/options/option_table.h"

namespace penstock {
namespace {

// "--pipeline.stages K, --stages"
std::string left_column(const Option& option) {
  std::string text = "--" + option.name();
  if (!option.symbol.empty()) text += " " + option.symbol;
  if (!option.shorthand.empty()) text += ", --" + option.shorthand;
  return text;
}

std::string right_column(const Option& option) {
  std::string text = option.help;
  if (!option.limits.choices.empty()) {
    text += fmt::format(": {}", fmt::join(option.limits.choices, " | "));
    if (!option.limits.or_file.empty()) text += " | FILE" + option.limits.or_file;
  }
  const std::string value = text_of(default_of(option));
  return text + (value.empty() ? "" : fmt::format(" [{}]", value));
}

}  // namespace

std::string general_help() {
  return R"(Penstock trains neural networks in pipeline stages, one MPI rank each.

usage: mpirun -n RANKS penstock COMMAND [RUNFILE.toml] [--section.key value ...]

  train RUNFILE.toml       train the network that the run file describes
  eval RUNFILE.toml        how good a trained network is, on the validation data
  translate RUNFILE.toml   sentences of standard input, with a trained network
  generate RUNFILE.toml    text that goes on from a prompt, with a trained network
                           (a run directory stands for its run.toml)

  plan RUNFILE.toml        which stages x replicas, schedule and split would be fastest; needs no ranks
  profile RUNFILE.toml     time and memory of every layer here, and of the links between ranks
  inspect PATH             what a checkpoint holds, how two differ, what a run file would train
  schedule                 what every rank would do in a step, drawn and timed; needs no ranks
  info                     versions, devices, and what a run here would use

  penstock COMMAND --help   the options of a command
  penstock --version

A training run needs stages x replicas ranks:
  mpirun -n 4 penstock train run.toml --stages 4
Exit codes: 0 done, 1 a bug of ours, 2 bad usage or configuration, 3 a resource is missing, 4 a peer died or
a step hung, 5 a data file or checkpoint is damaged, 6 not finite, 75 stopped on request with a checkpoint.
)";
}

std::string train_help() {
  std::string text = R"(usage: mpirun -n RANKS penstock train RUNFILE.toml [--section.key value ...]

Every key of the run file (TOML) can be given here, and then wins. true/false options may stand
alone; lists are written 3,5. Ranks = stages x replicas. In [ ]: the default.
)";
  constexpr size_t kWidest = 44;
  size_t width = 0;
  for (const Option& option : option_table()) {
    const size_t size = left_column(option).size();
    if (size <= kWidest) width = std::max(width, size);
  }
  std::string section;
  for (const Option& option : option_table()) {
    if (option.section != section) {
      section = option.section;
      text += fmt::format("\n[{}]\n", section);
    }
    const std::string left = left_column(option);
    if (left.size() > width) {
      text += fmt::format("  {}\n  {:{}}  {}\n", left, "", width, right_column(option));
    } else {
      text += fmt::format("  {:{}}  {}\n", left, width, right_column(option));
    }
  }
  return text;
}

std::string eval_help() {
  return R"(usage: mpirun -n RANKS penstock eval RUNFILE.toml [--checkpoint DIR] [--json]
                                         [--section.key value ...]

Loss, perplexity, top-1 and top-5 accuracy of a trained network on data.validation; of a translation
network also BLEU of its translations, for every language pair. The run file is best the run.toml
of the run directory; any number of stages and replicas will do.

  --checkpoint DIR   which one [the newest of run.out]
  --beam N           of the translations [1]
  --length-penalty A ((5 + length) / 6)^A [0.6]
  --cache on|off     as in translate [on]
  --json             for programs
)";
}

std::string translate_help() {
  return R"(usage: mpirun -n RANKS penstock translate RUNFILE.toml [--to LANGUAGE] [options]
                                         [--section.key value ...] < sentences > translations

Translates standard input line by line with a trained network. The run file is best the run.toml of
the run directory; any number of stages and replicas will do.

  --to LANGUAGE      target language, one of data.pairs; may be left out where there is one
  --checkpoint DIR   which one [the newest of run.out]
  --beam N           search with N rows for each sentence; 1: greedy [1]
  --length-penalty A ((5 + length) / 6)^A [0.6]
  --cache on|off     keep the keys and values of the words before; off: compute them again [on]
  --reference FILE   print the BLEU score of the translations to standard error
)";
}

std::string generate_help() {
  return R"(usage: mpirun -n RANKS penstock generate RUNFILE.toml [--prompt TEXT ...] [options]
                                         [--section.key value ...] [< prompts] > texts

Writes text with a trained language model (data.kind = "text"): each prompt and what follows it, a
line of dashes between two. The run file is best the run.toml of the run directory; any number of
stages and replicas will do, and gives the same text.

  --prompt TEXT      what to go on from, may be repeated [each line of standard input];
                     an empty one begins as after the end of a line
  --checkpoint DIR   which one [the newest of run.out]
  --tokens N         how many more, characters or word pieces [200]
  --samples N        texts of each prompt [1]
  --temperature T    logits are divided by T; 0: always the most probable token [1]
  --top-k K          choose among the K most probable tokens; 0: all [0]
  --top-p P          choose among the most probable that make up the share P [1]
  --cache on|off     keep the keys and values of the tokens before; off: compute them again [on]
  --seed S           of the draws, with the number of the text and of the token [run.seed]

The network sees model.context tokens: of a longer prompt, or once the text is longer, the last
ones.
)";
}

std::string profile_help() {
  return R"(usage: [mpirun -n RANKS] penstock profile RUNFILE.toml [--profile-out FILE] [--links]
                                         [--section.key value ...]

Measures every layer of the network at the run's micro-batch size and precision, one layer at a
time, so a network larger than a device can be measured too; trains nothing. Any number of ranks:
all measure at once, as a run would load the machine, and the mean is written. With two ranks or
more the links between them are measured as well, within a host and between two.

  --profile-out FILE   where the figures go, as JSON [profile.json]
  --links              every link of the run's stages x replicas, which must be the ranks: neighbours
                       and replicas, message sizes down; plans then use the typical ones

The keys of the run file and their short forms are those of `penstock train --help`.
)";
}

std::string info_help() {
  return R"(usage: [mpirun -n RANKS] penstock info [RUNFILE.toml] [--section.key value ...]

Prints versions, processor, ranks and devices, and what a run started this way would use.
)";
}

}  // namespace penstock
