// runtime/drawing/engine.cpp -- what the page calls: the two ends of a WebAssembly module whose
// only job is answer(). Compiled by emscripten and linked into no program; page/engine.js is the
// caller.
#include <emscripten.h>

#include <exception>
#include <nlohmann/json.hpp>
#include <string>

#include "runtime/drawing/answer.h"
#include "runtime/drawing/json.h"

namespace {

std::string question_text;
std::string answer_text;

}  // namespace

extern "C" {

// Where to write a question of so many bytes.
EMSCRIPTEN_KEEPALIVE char* question(size_t bytes) {
  question_text.resize(bytes);
  return question_text.data();
}

// The answer to it, as answer_json() or {"error": sentence}; alive until the next call.
EMSCRIPTEN_KEEPALIVE const char* answer() {
  try {
    answer_text =
        penstock::answer_json(penstock::answer(penstock::settings_from_json(question_text)));
  } catch (const std::exception& error) {
    answer_text = nlohmann::json{{"error", error.what()}}.dump();
  }
  return answer_text.c_str();
}

}  // extern "C"
