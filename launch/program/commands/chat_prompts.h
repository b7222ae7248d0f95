// launch/program/commands/chat_prompts.h -- `generate --chat`: conversations that a network goes on
// with, written by the chat template of its folder.
#pragma once

#include <string>
#include <vector>

#include "launch/program/commands/use_options.h"
#include "launch/program/runs/trained_run.h"
#include "runtime/data/datasets/tuning/chat.h"

namespace penstock {

// Reads the messages of a JSON file: {"messages": [{"role": "user", "content": "..."}, ...]}, or
// the list alone. Throws Error(Input) naming the file and what a message has or lacks, also where
// the last message is the assistant's, which leaves nothing to answer; Error(Data) where the file
// is no JSON.
[[nodiscard]] std::vector<ChatMessage> read_messages(const std::string& file);

// Collective; the prompts of rank 0 count: each is what a user says first. Writes an answer to each
// prompt, or to the conversation in each file of options.messages.
void answer_conversations(const TrainedRun& run, const UseOptions& options,
                          const std::vector<std::string>& prompts);

// Reads what the user says, a line a turn, and answers, to the end of the input; each turn sees
// those before it. For one rank, on a terminal.
void converse(const TrainedRun& run, const UseOptions& options);

}  // namespace penstock
