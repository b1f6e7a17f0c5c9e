#include "services/apps/launch/host_session.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

namespace espalier::launch {
namespace {

using std::chrono::milliseconds;

constexpr size_t kMostSaidBytes = 4096;
// Of standard error at once: a host that floods it does not keep us from everything else.
constexpr int kMostReads = 16;
// Answers that nobody has asked for yet: there are hardly any.
constexpr size_t kMostKept = 4;
// Of a message, between two beats; it goes into the pipe within the patience, even over a slow line.
constexpr size_t kPieceBytes = size_t{64} << 10;
constexpr std::chrono::seconds kSendPatience{60};
constexpr std::chrono::seconds kLongestWait{1};
// From the end of ssh's output to its own end, which says why.
constexpr std::chrono::seconds kEndPatience{5};

void CloseOne(int* descriptor) {
  if (*descriptor >= 0) close(*descriptor);
  *descriptor = -1;
}

// Closes the ends that nobody has taken.
struct Pipe {
  Pipe(int reading, int writing) : read_end(reading), write_end(writing) {}
  Pipe(Pipe&& other) noexcept
      : read_end(std::exchange(other.read_end, -1)), write_end(std::exchange(other.write_end, -1)) {}
  ~Pipe() {
    CloseOne(&read_end);
    CloseOne(&write_end);
  }
  int read_end, write_end;
};

Result<Pipe> MakePipe() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return FromErrno(errno, "making a pipe");
  return Pipe(ends[0], ends[1]);
}

}  // namespace

Status FailureOf(const HostSession& session, const Message& message) {
  const int64_t code = message.Number("code");
  const bool known = code > 0 && code <= static_cast<int64_t>(StatusCode::kUnauthenticated);
  return Status(known ? static_cast<StatusCode>(code) : StatusCode::kInternal,
                "on " + session.host().name + ": " + OneLine(message.Text("message")));
}

Result<std::unique_ptr<HostSession>> HostSession::Open(const Host& host, const SessionOptions& options) {
  std::unique_ptr<HostSession> session(new HostSession(host, options));
  ASSIGN_OR_RETURN(session->address_, NumericAddress(host.name));
  ASSIGN_OR_RETURN(Pipe input, MakePipe());
  ASSIGN_OR_RETURN(Pipe output, MakePipe());
  ASSIGN_OR_RETURN(Pipe error, MakePipe());
  run::ChildSpec spec;
  spec.name = "ssh to " + host.name;
  spec.program = options.ssh.program;
  spec.arguments = SshArguments(options.ssh, host.name, {options.program, "host"});
  spec.input = input.read_end;
  spec.output = output.write_end;
  spec.error = error.write_end;
  ASSIGN_OR_RETURN(run::ChildProcess ssh, run::ChildProcess::Start(spec));
  session->ssh_.emplace(std::move(ssh));
  session->input_ = std::exchange(input.write_end, -1);
  session->output_ = std::exchange(output.read_end, -1);
  session->error_ = std::exchange(error.read_end, -1);
  fcntl(session->error_, F_SETFL, O_NONBLOCK);
  session->pipe_.emplace(session->output_, session->input_, MessagePipe::Greeting::kExpected);
  return session;
}

HostSession::~HostSession() {
  Close(Deadline::After(milliseconds(0)));
  CloseDescriptors();
}

void HostSession::CloseDescriptors() {
  for (int* descriptor : {&input_, &output_, &error_}) CloseOne(descriptor);
}

Status HostSession::AwaitHello(const telemetry::StopSignal& stop, Deadline deadline, Heartbeat& heartbeat) {
  ASSIGN_OR_RETURN(const Message hello, Await("hello", stop, deadline, heartbeat));
  if (hello.Text("version") != options_.version) {
    return FailedPrecondition(host_.name + " has version " + OneLine(hello.Text("version")) + " of " +
                              options_.program + ", and this is version " + options_.version);
  }
  processors_ = static_cast<int>(std::clamp<int64_t>(hello.Number("processors"), 1, 1 << 16));
  program_folder_ = hello.Text("folder");
  for (const nlohmann::json& name : hello.head.value("missing", nlohmann::json::array())) {
    if (name.is_string()) missing_.push_back(OneLine(name.get<std::string>()));
  }
  has_said_hello_ = true;
  return Status();
}

Status HostSession::Send(nlohmann::json head, std::string body, Heartbeat* heartbeat) {
  if (over_.has_value()) return *over_;
  const std::string bytes = Encode({std::move(head), std::move(body)});
  Status failed;
  is_sending_ = true;
  for (size_t begin = 0; begin < bytes.size() && failed.ok(); begin += kPieceBytes) {
    const std::string_view piece = std::string_view(bytes).substr(begin, kPieceBytes);
    const Status sent = pipe_->SendBytes(piece, Deadline::After(kSendPatience));
    failed = sent.ok() ? sent : Over(sent);
    if (failed.ok() && heartbeat != nullptr) failed = heartbeat->Beat();
  }
  is_sending_ = false;
  return failed;
}

Result<std::vector<Message>> HostSession::Receive() {
  std::vector<Message> messages(std::make_move_iterator(kept_.begin()), std::make_move_iterator(kept_.end()));
  kept_.clear();
  if (over_.has_value()) return messages.empty() ? Result<std::vector<Message>>(*over_) : messages;
  ReadErrors();
  Result<std::vector<Message>> fresh = pipe_->Receive();
  if (!fresh.ok()) {
    const Status why = Over(fresh.status());
    return messages.empty() ? Result<std::vector<Message>>(why) : messages;
  }
  std::move(fresh->begin(), fresh->end(), std::back_inserter(messages));
  return messages;
}

Status HostSession::Look() {
  if (!over_.has_value()) {
    ReadErrors();
    Result<std::vector<Message>> fresh = pipe_->Receive();
    if (!fresh.ok()) {
      (void)Over(fresh.status());
      fresh = std::vector<Message>();
    }
    for (Message& message : *fresh) {
      const std::string is = message.Text("is");
      if (is == "failed") return FailureOf(*this, message);
      if (is == "pong") continue;
      if (kept_.size() == kMostKept) return Over(InvalidArgument("it says much that it was not asked for"));
      kept_.push_back(std::move(message));
    }
  }
  return over_.has_value() && kept_.empty() ? *over_ : Status();
}

Result<Message> HostSession::Await(const std::string& is, const telemetry::StopSignal& stop, Deadline deadline,
                                   Heartbeat& heartbeat) {
  while (true) {
    RETURN_IF_ERROR(Look());
    const auto found = std::find_if(kept_.begin(), kept_.end(), [&](const Message& m) { return m.Text("is") == is; });
    if (found != kept_.end()) {
      Message message = std::move(*found);
      kept_.erase(found);
      return message;
    }
    if (over_.has_value()) return *over_;
    if (stop.requested()) return Cancelled("stopped while waiting for " + host_.name);
    if (deadline.HasPassed()) return Over(DeadlineExceeded("no answer in time"));
    RETURN_IF_ERROR(heartbeat.Beat());
    pollfd polled[] = {{output_, POLLIN, 0}, {error_, POLLIN, 0}, {stop.descriptor(), POLLIN, 0}};
    const auto longest = std::min<std::chrono::nanoseconds>(deadline.Remaining(), kLongestWait);
    poll(polled, std::size(polled), static_cast<int>(std::chrono::ceil<milliseconds>(longest).count()));
  }
}

void HostSession::ReadErrors() {
  std::array<char, 4096> bytes;
  for (int turn = 0; turn < kMostReads && error_ >= 0; ++turn) {
    const ssize_t count = read(error_, bytes.data(), bytes.size());
    if (count < 0) return;
    if (count == 0) return CloseOne(&error_);
    said_.append(bytes.data(), static_cast<size_t>(count));
    if (said_.size() > kMostSaidBytes) said_.erase(0, said_.size() - kMostSaidBytes);
  }
}

// Why: what ssh says at its end says more than the pipe.
Status HostSession::Over(const Status& status) {
  if (over_.has_value()) return *over_;
  CloseOne(&input_);
  for (const Deadline deadline = Deadline::After(kEndPatience); !ssh_->Poll().has_value() && !deadline.HasPassed();) {
    pollfd polled{ssh_->descriptor(), POLLIN, 0};
    poll(&polled, 1, static_cast<int>(std::chrono::ceil<milliseconds>(deadline.Remaining()).count()));
  }
  ReadErrors();
  const bool closed = status.code() == StatusCode::kUnavailable;
  const std::optional<run::ExitState> exit = ssh_->Poll();
  over_ = closed && exit.has_value() ? SshFailure(host_.name, options_.program, *exit, said_)
                                     : status.While("talking to " + host_.name);
  return *over_;
}

void HostSession::Close(Deadline deadline) {
  CloseOne(&input_);
  while (ssh_.has_value() && !ssh_->Poll().has_value() && !deadline.HasPassed()) {
    ReadErrors();
    if (!over_.has_value() && !pipe_->Receive().ok()) over_ = Unavailable(host_.name + " has been left");
    pollfd polled[] = {{ssh_->descriptor(), POLLIN, 0}, {over_.has_value() ? -1 : output_, POLLIN, 0}};
    poll(polled, std::size(polled), static_cast<int>(std::chrono::ceil<milliseconds>(deadline.Remaining()).count()));
  }
  if (!over_.has_value()) over_ = Unavailable(host_.name + " has been left");
}

}  // namespace espalier::launch
