// Plays every role binary in the tests of `espalier run`: copied under their names into a folder, where the file
// "behavior" says who misbehaves and how ("server-1 exit 65", "trainer-0 hang").
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>

#include "services/telemetry/process.h"

namespace {

namespace fs = std::filesystem;
using espalier::telemetry::ReadyFile;
using espalier::telemetry::StopSignal;
using espalier::telemetry::WriteFileAtomically;
using espalier::telemetry::WriteReadyFile;

struct Behavior {
  std::string action;
  int number = 0;
};

Behavior BehaviorOf(const std::string& program, const std::string& child) {
  std::ifstream file(fs::path(program).parent_path() / "behavior");
  Behavior behavior;
  for (std::string name; file >> name >> behavior.action >> behavior.number;) {
    if (name == child) return behavior;
  }
  return {};
}

std::map<std::string, std::string> Flags(int argc, char** argv) {
  std::map<std::string, std::string> flags;
  for (int i = 1; i < argc; ++i) {
    const std::string name = argv[i];
    const bool has_value = i + 1 < argc && std::string(argv[i + 1]).rfind("--", 0) != 0;
    flags[name] = has_value ? argv[++i] : "";
  }
  return flags;
}

void RecordArguments(const std::string& path, int argc, char** argv) {
  std::string text;
  for (int i = 1; i < argc; ++i) text += std::string(argv[i]) + "\n";
  const char* threads = std::getenv("OMP_NUM_THREADS");
  text += std::string("OMP_NUM_THREADS=") + (threads == nullptr ? "" : threads) + "\n";
  (void)WriteFileAtomically(path, text);
}

int WaitForStop(int code) {
  StopSignal::Install().Wait();
  return code;
}

int Misbehave(const Behavior& behavior) {
  std::fprintf(stderr, "{\"level\":\"error\",\"message\":\"this is the end\",\"why\":\"%s\"}\n",
               behavior.action.c_str());
  if (behavior.action == "exit") return behavior.number;
  if (behavior.action == "signal") {
    signal(behavior.number, SIG_DFL);  // sanitizers catch some
    return raise(behavior.number);
  }
  if (behavior.action == "hang") return WaitForStop(75);
  if (behavior.action == "ignore-term") {
    signal(SIGTERM, SIG_IGN);
    while (true) pause();
  }
  if (behavior.action == "signal-run") {
    kill(getppid(), behavior.number);
    return WaitForStop(75);
  }
  return 70;
}

}  // namespace

int main(int argc, char** argv) {
  const fs::path program = argv[0];
  auto flags = Flags(argc, argv);
  const std::string child =
      flags.contains("--ready-file") ? fs::path(flags["--ready-file"]).stem().string() : "partitioner";
  const Behavior behavior = BehaviorOf(program, child);
  if (behavior.action == "never-ready") return WaitForStop(0);
  if (behavior.action == "exit-early") return behavior.number;

  if (child == "partitioner") {
    if (!behavior.action.empty()) return Misbehave(behavior);
    std::printf("{\"partitionKey\":\"k\",\"uri\":\"%s/k\"}\n", flags["--output"].c_str());
    return 0;
  }
  const std::string folder = fs::path(flags["--ready-file"]).parent_path();
  RecordArguments(folder + "/" + child + ".args", argc, argv);
  StopSignal::Install();
  const ReadyFile ready{.address = "127.0.0.1:1" + child.substr(child.find('-') + 1),
                        .admin_address = "127.0.0.1:2",
                        .rendezvous = child == "trainer-0" ? "127.0.0.1:3" : ""};
  if (!WriteReadyFile(flags["--ready-file"], ready).ok()) return 74;
  if (!behavior.action.empty()) return Misbehave(behavior);
  if (child.rfind("trainer", 0) != 0) return WaitForStop(0);
  if (child == "trainer-0") {
    (void)WriteFileAtomically(flags["--output"] + "/result.json", "{\"testAccuracy\": 0.8125, \"bestEpoch\": 3}\n");
  }
  return 0;
}
