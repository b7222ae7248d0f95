// tests/page/browser.cpp -- see browser.h.
#include "tests/page/browser.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <sstream>
#include <utility>

namespace penstock {
namespace {

constexpr int kPatienceMs = 60'000;
// The page is ours, and containers rarely allow the browser's sandbox.
constexpr const char* kFlags[] = {
    "--headless",     "--no-sandbox",      "--disable-gpu",          "--disable-dev-shm-usage",
    "--no-first-run", "--hide-scrollbars", "--remote-debugging-pipe"};

[[noreturn]] void give_up(const std::string& what) {
  throw std::runtime_error("the browser " + what);
}

bool executable(const std::string& path) {
  return access(path.c_str(), X_OK) == 0;
}

struct Pipe {
  int read = -1;
  int write = -1;
};

// Above the descriptors that the browser will know them by, and closed in it under these numbers.
Pipe make_pipe() {
  std::array<int, 2> ends{};
  if (pipe(ends.data()) != 0) give_up("cannot be given a pipe");
  constexpr int kHigh = 16;
  const Pipe high{fcntl(ends[0], F_DUPFD_CLOEXEC, kHigh), fcntl(ends[1], F_DUPFD_CLOEXEC, kHigh)};
  close(ends[0]);
  close(ends[1]);
  return high;
}

// In a process group of its own, so that all its processes end with it, and with a folder of its
// own for what it leaves when it is killed.
pid_t start(std::vector<std::string> words, const std::string& folder, const Pipe& to,
            const Pipe& from) {
  std::vector<char*> arguments;
  arguments.reserve(words.size() + 1);
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  const pid_t child = fork();
  if (child != 0) return child;
  setpgid(0, 0);
  dup2(to.read, 3);
  dup2(from.write, 4);
  const int nowhere = open("/dev/null", O_WRONLY);
  dup2(nowhere, STDERR_FILENO);
  setenv("TMPDIR", folder.c_str(), 1);
  execv(arguments[0], arguments.data());
  _exit(127);
}

}  // namespace

std::optional<std::string> find_chromium() {
  if (const char* named = std::getenv("PENSTOCK_CHROMIUM")) return named;
  const char* path = std::getenv("PATH");
  std::istringstream folders(path == nullptr ? "" : path);
  for (std::string folder; std::getline(folders, folder, ':');) {
    for (const char* name : {"chromium", "chromium-browser", "google-chrome"}) {
      if (executable(folder + "/" + name)) return folder + "/" + name;
    }
  }
  return std::nullopt;
}

Browser::Browser(const std::string& program, int width, int height) {
  const Pipe to = make_pipe();
  const Pipe from = make_pipe();
  std::vector<std::string> words = {program};
  words.insert(words.end(), std::begin(kFlags), std::end(kFlags));
  words.push_back("--user-data-dir=" + profile_.path());
  words.push_back("--window-size=" + std::to_string(width) + "," + std::to_string(height));
  words.emplace_back("about:blank");
  process_ = start(std::move(words), profile_.path(), to, from);
  close(to.read);
  close(from.write);
  to_ = to.write;
  from_ = from.read;
  const Json target = call("Target.createTarget", {{"url", "about:blank"}})["targetId"];
  session_ = call("Target.attachToTarget", {{"targetId", target}, {"flatten", true}})["sessionId"];
  for (const char* domain : {"Page", "Runtime", "Log", "Network", "DOM"}) {
    call(std::string(domain) + ".enable");
  }
}

Browser::~Browser() {
  close(to_);
  close(from_);
  kill(-process_, SIGKILL);
  waitpid(process_, nullptr, 0);
}

void Browser::open(const std::string& path) {
  call("Page.navigate", {{"url", "file://" + path}});
  for (int tries = 0; tries < 600; ++tries) {
    if (evaluate("document.body && document.body.dataset.ready") == "yes") return;
    usleep(50'000);
  }
  give_up("does not get " + path + " ready");
}

void Browser::resize(int width, int height, const std::string& scheme) {
  call("Emulation.setDeviceMetricsOverride",
       {{"width", width}, {"height", height}, {"deviceScaleFactor", 1}, {"mobile", true}});
  const Json feature = {{"name", "prefers-color-scheme"}, {"value", scheme}};
  call("Emulation.setEmulatedMedia", {{"features", Json::array({feature})}});
}

std::vector<std::string> Browser::take_complaints() {
  return std::exchange(complaints_, {});
}

Browser::Json Browser::evaluate(const std::string& expression) {
  const Json reply =
      call("Runtime.evaluate",
           {{"expression", expression}, {"awaitPromise", true}, {"returnByValue", true}});
  if (reply.contains("exceptionDetails")) give_up("throws: " + reply["exceptionDetails"].dump());
  return reply["result"].value("value", Json());
}

void Browser::press(const std::string& selector, const std::string& key, int times) {
  evaluate("document.querySelector('" + selector + "').focus()");
  for (int i = 0; i < times; ++i) {
    for (const char* type : {"rawKeyDown", "keyUp"}) {
      const int code = key == "ArrowRight" ? 39 : key == "ArrowLeft" ? 37 : key == "End" ? 35 : 36;
      call("Input.dispatchKeyEvent",
           {{"type", type}, {"key", key}, {"code", key}, {"windowsVirtualKeyCode", code}});
    }
  }
}

Browser::Json Browser::rectangle(const std::string& selector) {
  return evaluate("(() => { const e = document.querySelector('" + selector +
                  "'); e.scrollIntoView({block: 'center'}); const r = e.getBoundingClientRect();"
                  " return [r.x, r.y, r.width, r.height]; })()");
}

void Browser::mouse(const std::string& type, double x, double y) {
  call("Input.dispatchMouseEvent", {{"type", type},
                                    {"x", x},
                                    {"y", y},
                                    {"button", "left"},
                                    {"buttons", type == "mouseReleased" ? 0 : 1},
                                    {"clickCount", 1}});
}

void Browser::click(const std::string& selector) {
  drag(selector, 0.5, 0.5);
}

void Browser::drag(const std::string& selector, double from, double to) {
  const Json box = rectangle(selector);
  const double y = box[1].get<double>() + box[3].get<double>() / 2;
  const auto x = [&](double share) { return box[0].get<double>() + share * box[2].get<double>(); };
  mouse("mousePressed", x(from), y);
  if (from != to) mouse("mouseMoved", x(to), y);
  mouse("mouseReleased", x(to), y);
}

void Browser::choose_file(const std::string& selector, const std::string& path) {
  const Json root = call("DOM.getDocument")["root"]["nodeId"];
  const Json node = call("DOM.querySelector", {{"nodeId", root}, {"selector", selector}})["nodeId"];
  call("DOM.setFileInputFiles", {{"files", {path}}, {"nodeId", node}});
}

Browser::Json Browser::call(const std::string& method, const Json& params) {
  Json message = {{"id", ++calls_}, {"method", method}, {"params", params}};
  if (!session_.empty()) message["sessionId"] = session_;
  send(message);
  for (;;) {
    const Json reply = receive();
    if (!reply.contains("id")) {
      note(reply);
    } else if (reply["id"] == calls_) {
      if (reply.contains("error")) give_up("refuses " + method + ": " + reply["error"].dump());
      return reply["result"];
    }
  }
}

void Browser::send(const Json& message) {
  const std::string text = message.dump();
  const char* next = text.c_str();  // its zero byte ends the message
  size_t left = text.size() + 1;
  while (left > 0) {
    const ssize_t n = write(to_, next, left);
    if (n <= 0) give_up("takes no message");
    next += n;
    left -= static_cast<size_t>(n);
  }
}

Browser::Json Browser::receive() {
  size_t end = unread_.find('\0');
  while (end == std::string::npos) {
    pollfd ready{from_, POLLIN, 0};
    if (poll(&ready, 1, kPatienceMs) <= 0) give_up("does not answer");
    std::array<char, 65536> buffer{};
    const ssize_t n = read(from_, buffer.data(), buffer.size());
    if (n <= 0) give_up("has ended");
    const size_t searched = unread_.size();
    unread_.append(buffer.data(), static_cast<size_t>(n));
    end = unread_.find('\0', searched);
  }
  Json message = Json::parse(unread_.substr(0, end));
  unread_.erase(0, end + 1);
  return message;
}

void Browser::note(const Json& event) {
  const std::string method = event.value("method", "");
  const Json params = event.value("params", Json::object());
  if (method == "Runtime.exceptionThrown") {
    complaints_.push_back("exception: " + params.dump());
  } else if (method == "Runtime.consoleAPICalled" &&
             (params["type"] == "error" || params["type"] == "warning")) {
    complaints_.push_back("console: " + params.dump());
  } else if (method == "Log.entryAdded") {
    complaints_.push_back("log: " + params["entry"].dump());
  } else if (method == "Network.requestWillBeSent") {
    const std::string url = params["request"]["url"];
    if (url.rfind("file:", 0) != 0 && url.rfind("data:", 0) != 0) {
      complaints_.push_back("request: " + url);
    }
  }
}

}  // namespace penstock
