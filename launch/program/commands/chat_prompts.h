// launch/program/commands/chat_prompts.h -- `penstock generate --chat`: conversations with a
// language model. The chat template of the network's Hugging Face folder turns the messages so far
// into a prompt, and TextWriter (text_writer.h) writes the answer.
#pragma once

#include <string>
#include <vector>

#include "launch/program/commands/use_options.h"
#include "launch/program/runs/trained_run.h"
#include "runtime/data/datasets/tuning/chat.h"

namespace penstock {

// Reads the messages of a conversation from a JSON file: {"messages": [{"role": "user", "content":
// "..."}, ...]}, or the list alone. Throws Error(Input) naming the file and what is wrong with a
// message, also where the last message is the assistant's, since nothing is left to answer;
// Error(Data) where the file is not JSON.
[[nodiscard]] std::vector<ChatMessage> read_messages(const std::string& file);

// Writes one answer to each prompt, which is taken for what a user says first, and one to the
// conversation in each file of options.messages. Collective over all ranks; the prompts of rank 0
// count. Throws Error(Input) where the network has no chat template or the template refuses the
// messages, and on every rank what read_messages() throws.
void answer_conversations(const TrainedRun& run, const UseOptions& options,
                          const std::vector<std::string>& prompts);

// Talks with a user on a terminal: reads a line, writes an answer, until the input ends; each turn
// sees those before it. For a run of one rank. Throws Error(Input) as answer_conversations() does,
// and where options.generation.samples is not 1.
void converse(const TrainedRun& run, const UseOptions& options);

}  // namespace penstock
