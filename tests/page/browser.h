// tests/page/browser.h -- Browser: a Chromium without a window, driven by its DevTools protocol.
//
// The protocol comes over a pair of pipes (--remote-debugging-pipe): JSON messages that end in a
// zero byte, on file descriptors 3 and 4 of the browser.
#pragma once

#include <sys/types.h>

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "tests/support/temporary_folder.h"

namespace penstock {

// The program that PENSTOCK_CHROMIUM names, or the first of the usual ones on PATH.
[[nodiscard]] std::optional<std::string> find_chromium();
// Why tests are skipped without one.
inline constexpr const char* kNeedsChromium =
    "needs Chromium: launch/setup.sh --page installs it, or PENSTOCK_CHROMIUM names one";

class Browser {
 public:
  using Json = nlohmann::json;

  // Starts `program` with one page of that size in pixels. This and all functions below throw
  // std::runtime_error when it does not answer within a minute.
  Browser(const std::string& program, int width, int height);
  ~Browser();
  Browser(const Browser&) = delete;
  Browser& operator=(const Browser&) = delete;

  // Loads a file and waits until the page says that it is ready (data-ready on its body).
  void open(const std::string& path);
  // Makes the screen that size in pixels, of a user who prefers `scheme`, dark or light.
  void resize(int width, int height, const std::string& scheme = "light");
  // The value of a JavaScript expression; of a promise the value that it resolves to.
  Json evaluate(const std::string& expression);

  // Real input, as of a person. Elements are named by CSS selectors and scrolled to.
  void press(const std::string& selector, const std::string& key, int times = 1);
  void click(const std::string& selector);
  void drag(const std::string& selector, double from, double to);  // shares of its width
  void choose_file(const std::string& selector, const std::string& path);

  // Since the last call: errors and warnings on the console, exceptions that nobody caught, and
  // every address that was asked for and is neither a file nor data.
  [[nodiscard]] std::vector<std::string> take_complaints();

 private:
  Json call(const std::string& method, const Json& params = Json::object());
  void send(const Json& message);
  Json receive();
  void note(const Json& event);
  void mouse(const std::string& type, double x, double y);
  Json rectangle(const std::string& selector);

  TemporaryFolder profile_;
  pid_t process_ = -1;
  int to_ = -1;
  int from_ = -1;
  int calls_ = 0;
  std::string session_;
  std::string unread_;
  std::vector<std::string> complaints_;
};

}  // namespace penstock
