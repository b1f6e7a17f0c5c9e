// One thread with one loop (HandleCommands): read and execute the launcher's messages, report events of the processes,
// forward new lines of their logs and the status of trainer 0, then wait for the next input or event. A request that
// fails is answered with `failed` and does not end the loop. When the loop ends for any reason (a stop signal, an
// unknown request, or the end, an error or a long silence of the connection), all processes are stopped.
#include "services/runner/launch/host_agent.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>

#include "services/base/environment.h"
#include "services/base/exit_code.h"
#include "services/base/file.h"
#include "services/base/host_port.h"
#include "services/base/make_folder.h"
#include "services/base/parallel.h"
#include "services/base/sha256.h"
#include "services/runner/launch/file_receiver.h"
#include "services/runner/launch/heartbeat.h"
#include "services/runner/launch/log_follower.h"
#include "services/runner/launch/message.h"
#include "services/runner/launch/port_holder.h"
#include "services/runner/run/local_fleet.h"
#include "services/runner/run/local_port.h"
#include "services/runner/run/program_path.h"
#include "services/runner/run/run_folder.h"
#include "services/telemetry/process.h"
#include "services/telemetry/termination.h"

namespace espalier::launch {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using run::ChildId;
using std::chrono::milliseconds;

constexpr milliseconds kTick{100};            // longest wait of the loop
constexpr milliseconds kReadyTick{10};        // longest wait while a process is not ready yet
constexpr milliseconds kStatusInterval{500};  // between two statuses of trainer 0
// Time limit for sending a message. A launcher that does not read the message within this time is considered lost.
constexpr std::chrono::seconds kMessageTimeout{60};
// Time limit for locking the folder. If the launcher of an earlier launch has just died, the agent of that launch holds
// the lock until its processes have ended.
constexpr std::chrono::seconds kFolderTimeout{60};
// Longest silence of the launcher before `begin`. Long, because the launcher sends no pings while it downloads the
// job's script and prepares the run.
constexpr std::chrono::minutes kPatienceBeforeBegin{10};
constexpr const char* kRolePrograms[] = {"espalier-partitioner", "espalier-graph-server", "espalier-sampler",
                                         "espalier-trainer", "espalier-trainer-process"};
constexpr size_t kMaxTokenBytes = 4096;

// Returns the content of the file; empty if it cannot be read or is larger than `max_bytes`.
std::string ReadTextOrEmpty(const std::string& path, size_t max_bytes) {
  Result<std::string> text = ReadFile(path, max_bytes);
  return text.ok() ? *std::move(text) : std::string();
}

// Writes the file `name` below `folder`, readable only by this user. InvalidArgument if `name` leads out of the folder.
Status WriteBelow(const fs::path& folder, const std::string& name, const std::string& text) {
  const fs::path path = (folder / name).lexically_normal();
  const auto [mismatch, rest] = std::mismatch(folder.begin(), folder.end(), path.begin(), path.end());
  if (mismatch != folder.end() || rest == path.end())
    return InvalidArgument("'" + name + "' is not a file below " + folder.string());
  RETURN_IF_ERROR(MakeFolder(path.parent_path()));
  const mode_t before = umask(0077);
  const Status written = telemetry::WriteFileAtomically(path, text);
  umask(before);
  return written;
}

class HostAgent {
 public:
  explicit HostAgent(const HostAgentOptions& options)
      : options_(options),
        stop_(telemetry::StopSignal::Install()),
        pipe_(options.input, options.output, MessagePipe::Greeting::kNone),
        fleet_(stop_, run::Site{.paths = run::RunPaths(""), .program_folder = options.program_folder}) {}

  int Run() {
    const Status ended = HandleCommands();
    fleet_.Watch({});
    // The names of killed processes are not reported, because the launcher may be lost.
    (void)fleet_.StopAll(grace_);
    if (folder_.has_value()) {
      std::error_code ignored;
      fs::remove_all(folder_->TlsFolder(), ignored);
    }
    if (!ended.ok()) return static_cast<int>(ToExitCode(ended.code()));
    return static_cast<int>(stop_.requested() ? ExitCode::kAskedToStop : ExitCode::kDone);
  }

 private:
  // The latest start of a child.
  struct Life {
    int64_t number = 0;  // `life` in messages
    LogFollower log;
  };

  Status HandleCommands() {
    RETURN_IF_ERROR(pipe_.SendBytes(kGreeting, SendDeadline()));
    RETURN_IF_ERROR(SendHello());
    SilenceTimer silence;
    while (!stop_.requested()) {
      const Result<std::vector<Message>> messages = pipe_.Receive();
      if (!messages.ok()) return messages.status().code() == StatusCode::kUnavailable ? Status() : messages.status();
      for (const Message& message : *messages) RETURN_IF_ERROR(Execute(message));
      if (silence.Update(pipe_.bytes_received()) > patience_)
        return Unavailable("no message from the launcher for " + std::to_string(patience_.count() / 1000) + " s");
      RETURN_IF_ERROR(ContinueBegin());
      RETURN_IF_ERROR(SendEvents(fleet_.Poll()));
      RETURN_IF_ERROR(SendStatus());
      fleet_.Watch({options_.input});
      fleet_.WaitForEvent(fleet_.LongestAwaited().has_value() ? kReadyTick : kTick);
    }
    return Status();
  }

  static Deadline SendDeadline() { return Deadline::After(kMessageTimeout); }
  Status Send(json head, std::string body = {}) {
    return pipe_.Send({std::move(head), std::move(body)}, SendDeadline());
  }

  Status SendHello() {
    json missing = json::array();
    for (const char* program : kRolePrograms) {
      if (access((options_.program_folder + "/" + program).c_str(), X_OK) != 0) missing.push_back(program);
    }
    return Send({{"is", "hello"},
                 {"version", options_.version},
                 {"processors", AvailableProcessors()},
                 {"folder", options_.program_folder},
                 {"missing", missing}});
  }

  // Executes a message. A failed request is reported to the launcher; a returned error ends the connection.
  Status Execute(const Message& message) {
    const std::string request = message.Text("do");
    Status done;
    if (request == "ping") return Send({{"is", "pong"}});
    if (request == "begin") {
      done = Begin(message);
    } else if (request == "start") {
      done = Start(message);
    } else if (request == "signal") {
      Signal(message);
    } else if (request == "sees") {
      return Send({{"is", "seen"}, {"there", HasFile(message)}});
    } else if (request == "receive") {
      done = Receive(message);
    } else if (request == "block") {
      done = TakeBlock(message);
    } else {
      return InvalidArgument("the launcher's request '" + request + "' is unknown");
    }
    return done.ok() ? done : SendFailure(done, message);
  }

  Status SendFailure(const Status& status, const Message& request) {
    return Send({{"is", "failed"},
                 {"code", static_cast<int>(status.code())},
                 {"message", status.message()},
                 {"child", request.Text("child")},
                 {"life", request.Number("life")}});
  }

  Status Begin(const Message& message) {
    patience_ = std::chrono::seconds(message.Number("lostSeconds"));
    grace_ = std::chrono::seconds(message.Number("graceSeconds"));
    pending_begin_ = message;
    begin_by_ = Deadline::After(kFolderTimeout);
    return TryBegin();
  }

  // Retries a pending `begin`.
  Status ContinueBegin() {
    if (!pending_begin_.has_value()) return Status();
    const Message begin = *pending_begin_;
    const Status done = TryBegin();
    return done.ok() ? done : SendFailure(done, begin);
  }

  // Locks the folder and creates its files. If another agent holds the lock before begin_by_, returns OK, and the next
  // turn of the loop retries.
  Status TryBegin() {
    const Message message = *pending_begin_;
    Result<run::RunFolder> folder = run::RunFolder::Open(message.Text("folder"));
    const bool is_in_use = folder.status().code() == StatusCode::kAborted;
    if (is_in_use && !begin_by_.HasPassed()) return Status();
    pending_begin_.reset();
    if (!folder.ok()) return folder.status();
    folder_.emplace(*std::move(folder));
    RETURN_IF_ERROR(fleet_.ShareRows(static_cast<uint64_t>(std::max<int64_t>(message.Number("sharedRowBytes"), 0))));
    RETURN_IF_ERROR(folder_->RemoveRunFiles());
    RETURN_IF_ERROR(folder_->RemoveResults(/*keep_logs=*/false));
    const json files = message.head.value("files", json::object());
    for (const auto& [name, text] : files.items()) {
      if (!text.is_string()) return InvalidArgument("the contents of " + name + " are not text");
      RETURN_IF_ERROR(WriteBelow(folder_->path(), name, text.get<std::string>()));
    }
    const bool sees = ReadTextOrEmpty(message.Text("output") + "/run/token", kMaxTokenBytes) == message.Text("token");
    ASSIGN_OR_RETURN(const uint16_t port, run::FindFreePort(message.Text("address")));
    return Send({{"is", "begun"}, {"seesOutput", sees}, {"rendezvousPort", port}});
  }

  Status Start(const Message& message) {
    const std::optional<ChildId> child = run::ParseChildId(message.Text("child"));
    if (!child.has_value() || !folder_.has_value()) {
      return InvalidArgument("cannot start '" + message.Text("child") +
                             "': expected the name of a process, and the message `begin` before `start`");
    }
    const std::string name = ToString(*child);
    const std::string listen = message.Text("listen");
    RETURN_IF_ERROR(CheckPortIsFree(listen, name));
    process::ChildSpec spec;
    spec.name = name;
    spec.program = message.Text("program");
    for (const json& argument : message.head.value("arguments", json::array())) {
      spec.arguments.push_back(argument.is_string() ? argument.get<std::string>() : "");
    }
    const json environment = message.head.value("environment", json::object());
    for (const auto& [variable, value] : environment.items()) {
      spec.environment[variable] = value.is_string() ? value.get<std::string>() : "";
    }
    spec.folder = message.Text("workingFolder");
    if (!spec.program.starts_with('/')) {  // a user's program
      const auto path = spec.environment.find("PATH");
      ASSIGN_OR_RETURN(
          spec.program,
          run::FindProgram(spec.program, spec.folder,
                           path != spec.environment.end() ? path->second : FindValue(environment_, "PATH")));
    }
    spec.log_path = folder_->LogFile(name);
    std::error_code ignored;
    fs::remove(folder_->TerminationFile(name), ignored);
    lives_.erase(*child);
    lives_.emplace(*child, Life{message.Number("life"), LogFollower(spec.log_path)});
    return fleet_.Start(*child, spec, message.Flag("hasReadyFile") ? folder_->ReadyFile(name) : "");
  }

  static Status CheckPortIsFree(const std::string& listen, const std::string& name) {
    if (listen.empty()) return Status();
    ASSIGN_OR_RETURN(const HostPort at, ParseHostPort(listen));
    if (at.port == 0 || !run::IsTaken(at.host, at.port)) return Status();
    return Unavailable("port " + std::to_string(at.port) + ", where " + name + " is to listen, is taken by " +
                       FindPortHolder(at.host, at.port).value_or("a socket of an unknown process") +
                       ": end it, or give the host another port in the hosts file");
  }

  void Signal(const Message& message) {
    const std::optional<ChildId> child = run::ParseChildId(message.Text("child"));
    const auto life = child.has_value() ? lives_.find(*child) : lives_.end();
    if (life == lives_.end() || life->second.number != message.Number("life")) return;
    fleet_.Signal(*child, static_cast<int>(message.Number("signal")));
  }

  static bool HasFile(const Message& message) {
    const std::string path = message.Text("path");
    std::error_code error;
    const auto size_bytes = static_cast<uint64_t>(message.Number("bytes"));
    if (fs::file_size(path, error) != size_bytes || error) return false;
    return Sha256Hex(ReadTextOrEmpty(path, size_bytes)) == message.Text("sha256");
  }

  Status Receive(const Message& message) {
    receiver_.reset();  // discards an unfinished transfer that the launcher has given up
    ASSIGN_OR_RETURN(FileReceiver receiver, FileReceiver::Begin(message));
    receiver_.emplace(std::move(receiver));
    RETURN_IF_ERROR(Send({{"is", "wants"}, {"blocks", receiver_->wanted()}}));
    return CommitWhenComplete();
  }

  Status TakeBlock(const Message& message) {
    if (!receiver_.has_value())
      return InvalidArgument("got a `block`, but no file is being received: expected `receive` before it");
    RETURN_IF_ERROR(receiver_->WriteBlock(static_cast<uint64_t>(message.Number("index")), message.body));
    return CommitWhenComplete();
  }

  Status CommitWhenComplete() {
    if (!receiver_->wanted().empty()) return Status();
    const Status committed = receiver_->Commit();
    const bool was_there = receiver_->was_there();
    receiver_.reset();
    RETURN_IF_ERROR(committed);
    return Send({{"is", "received"}, {"wasThere", was_there}});
  }

  Status SendEvents(const run::FleetEvents& events) {
    for (const run::ChildReady& event : events.ready) {
      RETURN_IF_ERROR(Send({{"is", "ready"},
                            {"child", ToString(event.child)},
                            {"life", lives_.at(event.child).number},
                            {"address", event.ready.address},
                            {"admin", event.ready.admin_address},
                            {"rendezvous", event.ready.rendezvous},
                            {"pid", event.ready.pid}}));
    }
    std::map<ChildId, const run::ChildEnded*> ended;
    for (const run::ChildEnded& event : events.ended) ended[event.child] = &event;
    for (auto& [child, life] : lives_) {
      const bool has_ended = ended.contains(child);
      std::string text = has_ended ? life.log.ReadEnd() : life.log.Read();
      if (!text.empty()) RETURN_IF_ERROR(Send({{"is", "log"}, {"child", ToString(child)}}, std::move(text)));
      if (has_ended) RETURN_IF_ERROR(SendExit(*ended.at(child), life));
    }
    return Status();
  }

  Status SendExit(const run::ChildEnded& event, const Life& life) {
    const std::string name = ToString(event.child);
    return Send({{"is", "ended"},
                 {"child", name},
                 {"life", life.number},
                 {"code", event.exit.code},
                 {"signal", event.exit.signal},
                 {"lastWords", ReadTextOrEmpty(folder_->TerminationFile(name), telemetry::kMaxTerminationBytes)}});
  }

  // Forwards the status of trainer 0 if it runs here, at most every kStatusInterval.
  Status SendStatus() {
    const ChildId rank0{run::Role::kTrainer, 0};
    const SteadyTime now = Clock::Real().Now();
    if (!lives_.contains(rank0) || fleet_.ExitState(rank0).has_value() || now < status_sent_ + kStatusInterval) {
      return Status();
    }
    status_sent_ = now;
    Result<std::string> status = fleet_.FetchStatus(rank0);
    if (!status.ok()) return Status();  // busy, or not ready yet; retried after kStatusInterval
    return Send({{"is", "status"}, {"child", ToString(rank0)}}, *std::move(status));
  }

  const HostAgentOptions options_;
  const EnvironmentMap environment_ = ReadEnvironment();
  const telemetry::StopSignal& stop_;
  MessagePipe pipe_;
  std::optional<run::RunFolder> folder_;
  std::map<ChildId, Life> lives_;
  std::optional<FileReceiver> receiver_;
  std::chrono::milliseconds grace_{0};                        // from SIGTERM to SIGKILL
  std::chrono::milliseconds patience_{kPatienceBeforeBegin};  // longest silence of the launcher
  std::optional<Message> pending_begin_;  // a pending `begin`, while the folder is locked by another agent
  Deadline begin_by_ = Deadline::After(milliseconds(0));
  SteadyTime status_sent_;
  run::LocalFleet fleet_;  // declared last, so that its processes are killed first
};

}  // namespace

int RunHostAgent(const HostAgentOptions& options) { return HostAgent(options).Run(); }

}  // namespace espalier::launch
