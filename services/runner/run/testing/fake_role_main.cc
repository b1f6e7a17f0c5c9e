// Replaces every role binary in the tests of `espalier run`. Links with the names of the binaries are in one folder,
// and each line of the file "behavior" there makes one child misbehave: "<child> <action> <number>".
//
//   server-1 exit 65             exits with 65; see Misbehave for the other actions
//   server-1 once:signal 9       misbehaves only in its first process
//   trainer-0 await-server-1 2   waits until server-1 has been started twice, then works normally
//   partitioner reuse 0          works normally, and reports that it reused partitions
//   partitioner warn 0           works normally, and reports a warning
//   partitioner unknown-name 0   rejects the document
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>

#include "services/base/clock.h"
#include "services/telemetry/process.h"
#include "services/telemetry/termination.h"

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

Behavior FindBehavior(const std::string& program, const std::string& child) {
  std::ifstream file(fs::path(program).parent_path() / "behavior");
  Behavior behavior;
  for (std::string name; file >> name >> behavior.action >> behavior.number;) {
    if (name != child) continue;
    if (behavior.action.rfind("once:", 0) != 0) return behavior;
    const fs::path lived = fs::path(program).parent_path() / (child + ".lived");
    if (fs::exists(lived)) continue;
    std::ofstream(lived) << "once";
    behavior.action = behavior.action.substr(5);
    return behavior;
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

// Returns a description of the memory that the process has inherited: "file 17 of 4096 bytes" or "none".
std::string DescribeSharedMemory() {
  const char* const descriptor = std::getenv("ESPALIER_SHARED_ROW_MEMORY");
  struct stat file = {};
  if (descriptor == nullptr || *descriptor == '\0') return "none";
  if (fstat(std::atoi(descriptor), &file) != 0) return "a descriptor that is not open";
  return "file " + std::to_string(file.st_ino) + " of " + std::to_string(file.st_size) + " bytes";
}

void RecordArguments(const std::string& path, int argc, char** argv) {
  std::string text;
  for (int i = 1; i < argc; ++i) text += std::string(argv[i]) + "\n";
  const char* threads = std::getenv("OMP_NUM_THREADS");
  text += std::string("OMP_NUM_THREADS=") + (threads == nullptr ? "" : threads) + "\n";
  for (const char* name : {"ESPALIER_FAILPOINTS", "AWS_REGION"}) {
    const char* value = std::getenv(name);
    text += std::string(name) + "=" + (value == nullptr ? "" : value) + "\n";
  }
  text += "shared memory: " + DescribeSharedMemory() + "\n";
  (void)WriteFileAtomically(path, text);
}

void RecordLife(const std::string& folder, const std::string& child) {
  std::ofstream(folder + "/" + child + ".lives", std::ios::app) << "one\n";
}

// Blocks until the child has been started `count` times. Returns false after a minute.
bool AwaitStarts(const std::string& folder, const std::string& child, int count) {
  const auto deadline = espalier::Deadline::After(std::chrono::minutes(1));
  while (!deadline.HasPassed()) {
    std::ifstream file(folder + "/" + child + ".lives");
    int lives = 0;
    for (std::string line; std::getline(file, line);) ++lives;
    if (lives >= count) return true;
    usleep(10000);
  }
  return false;
}

// Blocks until this process is asked to stop, and then appends the child's name to the file "stops".
int WaitForStop(const std::string& folder, const std::string& child, int code) {
  StopSignal::Install().Wait();
  std::ofstream(folder + "/stops", std::ios::app) << child + "\n";
  return code;
}

int Misbehave(const Behavior& behavior, const std::string& folder, const std::string& child) {
  std::fprintf(stderr, "{\"level\":\"error\",\"message\":\"this is the end\",\"why\":\"%s\"}\n",
               behavior.action.c_str());
  if (behavior.action == "exit") return behavior.number;
  if (behavior.action == "exit-with-words") {
    espalier::telemetry::WriteTermination(espalier::Unavailable("the last words"), espalier::ExitCode::kUnavailable);
    return behavior.number;
  }
  if (behavior.action == "signal") {
    signal(behavior.number, SIG_DFL);  // sanitizers install handlers for some signals
    return raise(behavior.number);
  }
  if (behavior.action == "hang") return WaitForStop(folder, child, 75);
  if (behavior.action == "ignore-term") {
    signal(SIGTERM, SIG_IGN);
    while (true) pause();
  }
  if (behavior.action == "signal-run") {
    kill(getppid(), behavior.number);
    return WaitForStop(folder, child, 75);
  }
  return 70;
}

// Ends like a partitioner whose graph lacks a column that the document names.
int RefuseDocument(const std::string& job_file) {
  const std::string message = job_file + ":40:40: spec.training.task.label: no such column";
  espalier::telemetry::WriteTermination(espalier::InvalidArgument(message), espalier::ExitCode::kBadDocument);
  return static_cast<int>(espalier::ExitCode::kBadDocument);
}

}  // namespace

int main(int argc, char** argv) {
  const fs::path program = argv[0];
  auto flags = Flags(argc, argv);
  const std::string rank = flags["--rank"];
  const std::string child = flags.contains("--ready-file") ? fs::path(flags["--ready-file"]).stem().string()
                            : rank.empty() || rank == "0"  ? "partitioner"
                                                           : "partitioner-" + rank;
  const std::string folder = fs::path(flags["--ready-file"]).parent_path();
  const Behavior behavior = FindBehavior(program, child);
  if (behavior.action == "never-ready") return WaitForStop(folder, child, 0);
  if (behavior.action == "exit-early") return behavior.number;

  if (child.starts_with("partitioner")) {
    RecordArguments(fs::path(flags["--job"]).parent_path() / "run" / (child + ".args"), argc, argv);
    if (fs::exists(flags["--ready-file"])) return 70;  // a reader would mistake it for the file of this process
    ReadyFile ready;
    ready.admin_address = "127.0.0.1:2";
    if (!WriteReadyFile(flags["--ready-file"], ready).ok()) return 74;
    if (behavior.action == "unknown-name") return RefuseDocument(flags["--job"]);
    const bool reuses = behavior.action == "reuse", warns = behavior.action == "warn";
    if (!behavior.action.empty() && !reuses && !warns) return Misbehave(behavior, folder, child);
    if (!flags["--output"].starts_with("s3:")) {
      fs::create_directories(flags["--output"] + "/k");
      (void)WriteFileAtomically(flags["--output"] + "/k/manifest.json", "{}");
    }
    std::printf("{\"partitionKey\":\"k\",\"uri\":\"%s/k\",\"reused\":%s,\"warnings\":[%s]}\n",
                flags["--output"].c_str(), reuses ? "true" : "false", warns ? "\"half of it is gone\"" : "");
    return 0;
  }
  RecordArguments(folder + "/" + child + ".args", argc, argv);
  StopSignal::Install();
  const ReadyFile ready{.address = "127.0.0.1:1" + child.substr(child.find('-') + 1),
                        .admin_address = "127.0.0.1:2",
                        .rendezvous = child == "trainer-0" ? "127.0.0.1:3" : ""};
  if (!WriteReadyFile(flags["--ready-file"], ready).ok()) return 74;
  RecordLife(folder, child);
  if (behavior.action.rfind("await-", 0) == 0) {
    if (!AwaitStarts(folder, behavior.action.substr(6), behavior.number)) return 70;
  } else if (!behavior.action.empty() && behavior.action != "warn") {
    return Misbehave(behavior, folder, child);
  }
  if (child.rfind("trainer", 0) != 0) return WaitForStop(folder, child, 0);
  if (child == "trainer-0") {
    const std::string warnings = behavior.action == "warn" ? R"(, "warnings": ["half of it has no label"])" : "";
    const std::string result = R"({"testAccuracy": 0.8125, "bestEpoch": 3)" + warnings + "}";
    (void)WriteFileAtomically(flags["--output"] + "/result.json", result + "\n");
    const std::string manifest = R"({"format": "espalier.outputs", "format_version": 1, "incarnation": )" +
                                 flags["--incarnation"] + R"(, "files": [], "not_written": {}, "result": )" + result +
                                 "}";
    (void)WriteFileAtomically(flags["--output"] + "/manifest.json", manifest);
  }
  return 0;
}
