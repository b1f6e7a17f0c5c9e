// ssh is a child process with three pipes: messages through its standard input and output, and errors of ssh and of the
// host through its standard error, of which the last bytes are kept. If the pipe breaks, EndConnection waits briefly
// for ssh's exit code, because the code and standard error explain the failure better than the broken pipe.
#include "services/runner/launch/host_session.h"

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

constexpr size_t kMaxStderrBytes = 4096;
// Limits the reads in one call of ReadErrors, so that a host that writes to standard error without end does not block
// the caller.
constexpr int kMaxReads = 16;
// Limits the messages kept for a later Await. A correct host sends hardly any before they are requested.
constexpr size_t kMaxUnread = 4;
// Bytes of a message that are sent between two beats. Even a slow connection transfers them within kSendTimeout.
constexpr size_t kPieceBytes = size_t{64} << 10;
constexpr std::chrono::seconds kSendTimeout{60};
constexpr std::chrono::seconds kMaxPollWait{1};  // Await calls the heartbeat at least this often
// Time limit for ssh to exit after EndConnection has closed its input.
constexpr std::chrono::seconds kEndTimeout{5};

}  // namespace

Status ParseFailure(const HostSession& session, const Message& message) {
  const int64_t code = message.Number("code");
  const bool known = code > 0 && code <= static_cast<int64_t>(StatusCode::kUnauthenticated);
  return Status(known ? static_cast<StatusCode>(code) : StatusCode::kInternal,
                "on " + session.host().name + ": " + OneLine(message.Text("message")));
}

Result<std::unique_ptr<HostSession>> HostSession::Open(const Host& host, const SessionOptions& options) {
  std::unique_ptr<HostSession> session(new HostSession(host, options));
  ASSIGN_OR_RETURN(session->address_, ResolveAddress(host.name));
  ASSIGN_OR_RETURN(Pipe input, MakePipe());
  ASSIGN_OR_RETURN(Pipe output, MakePipe());
  ASSIGN_OR_RETURN(Pipe error, MakePipe());
  process::ChildSpec spec;
  spec.name = "ssh to " + host.name;
  spec.program = options.ssh.program;
  spec.arguments = MakeSshArguments(options.ssh, host.name, {options.program, "host"});
  spec.input = input.read_end.get();
  spec.output = output.write_end.get();
  spec.error = error.write_end.get();
  ASSIGN_OR_RETURN(process::ChildProcess ssh, process::ChildProcess::Start(spec));
  session->ssh_.emplace(std::move(ssh));
  session->input_ = std::move(input.write_end);
  session->output_ = std::move(output.read_end);
  session->error_ = std::move(error.read_end);
  fcntl(session->error_.get(), F_SETFL, O_NONBLOCK);
  session->pipe_.emplace(session->output_.get(), session->input_.get(), MessagePipe::Greeting::kExpected);
  return session;
}

HostSession::~HostSession() {
  Close(Deadline::After(milliseconds(0)));
  CloseDescriptors();
}

void HostSession::CloseDescriptors() {
  for (Descriptor* descriptor : {&input_, &output_, &error_}) descriptor->Close();
}

Status HostSession::AwaitHello(const telemetry::StopSignal& stop, Deadline deadline, Heartbeat& heartbeat) {
  ASSIGN_OR_RETURN(const Message hello, Await("hello", stop, deadline, heartbeat));
  if (hello.Text("version") != options_.version) {
    return FailedPrecondition(host_.name + " has version " + OneLine(hello.Text("version")) + " of " +
                              options_.program + ": expected version " + options_.version +
                              ", the one on this machine");
  }
  processors_ = static_cast<int>(std::clamp<int64_t>(hello.Number("processors"), 1, 1 << 16));
  program_folder_ = hello.Text("folder");
  for (const nlohmann::json& name : hello.head.value("missing", nlohmann::json::array())) {
    if (name.is_string()) missing_.push_back(OneLine(name.get<std::string>()));
  }
  has_received_hello_ = true;
  return Status();
}

Status HostSession::Send(nlohmann::json head, std::string body, Heartbeat* heartbeat) {
  if (end_reason_.has_value()) return *end_reason_;
  const std::string bytes = Encode({std::move(head), std::move(body)});
  Status failed;
  is_sending_ = true;
  for (size_t begin = 0; begin < bytes.size() && failed.ok(); begin += kPieceBytes) {
    const std::string_view piece = std::string_view(bytes).substr(begin, kPieceBytes);
    const Status sent = pipe_->SendBytes(piece, Deadline::After(kSendTimeout));
    failed = sent.ok() ? sent : EndConnection(sent);
    if (failed.ok() && heartbeat != nullptr) failed = heartbeat->Beat();
  }
  is_sending_ = false;
  return failed;
}

Result<std::vector<Message>> HostSession::Receive() {
  std::vector<Message> messages(std::make_move_iterator(unread_.begin()), std::make_move_iterator(unread_.end()));
  unread_.clear();
  if (end_reason_.has_value()) return messages.empty() ? Result<std::vector<Message>>(*end_reason_) : messages;
  ReadErrors();
  Result<std::vector<Message>> fresh = pipe_->Receive();
  if (!fresh.ok()) {
    const Status reason = EndConnection(fresh.status());
    return messages.empty() ? Result<std::vector<Message>>(reason) : messages;
  }
  std::move(fresh->begin(), fresh->end(), std::back_inserter(messages));
  return messages;
}

Status HostSession::PollMessages() {
  if (!end_reason_.has_value()) {
    ReadErrors();
    Result<std::vector<Message>> fresh = pipe_->Receive();
    if (!fresh.ok()) {
      (void)EndConnection(fresh.status());
      fresh = std::vector<Message>();
    }
    for (Message& message : *fresh) {
      const std::string type = message.Text("is");
      if (type == "failed") return ParseFailure(*this, message);
      if (type == "pong") continue;
      if (unread_.size() == kMaxUnread) return EndConnection(InvalidArgument("too many unexpected messages"));
      unread_.push_back(std::move(message));
    }
  }
  return end_reason_.has_value() && unread_.empty() ? *end_reason_ : Status();
}

Result<Message> HostSession::Await(const std::string& type, const telemetry::StopSignal& stop, Deadline deadline,
                                   Heartbeat& heartbeat) {
  while (true) {
    RETURN_IF_ERROR(PollMessages());
    const auto found =
        std::find_if(unread_.begin(), unread_.end(), [&](const Message& m) { return m.Text("is") == type; });
    if (found != unread_.end()) {
      Message message = std::move(*found);
      unread_.erase(found);
      return message;
    }
    if (end_reason_.has_value()) return *end_reason_;
    if (stop.requested()) return Cancelled("stopped while waiting for " + host_.name);
    if (deadline.HasPassed()) return EndConnection(DeadlineExceeded("no response in time"));
    RETURN_IF_ERROR(heartbeat.Beat());
    pollfd polled[] = {{output_.get(), POLLIN, 0}, {error_.get(), POLLIN, 0}, {stop.descriptor(), POLLIN, 0}};
    const auto longest = std::min<std::chrono::nanoseconds>(deadline.Remaining(), kMaxPollWait);
    poll(polled, std::size(polled), static_cast<int>(std::chrono::ceil<milliseconds>(longest).count()));
  }
}

void HostSession::ReadErrors() {
  std::array<char, 4096> bytes;
  for (int turn = 0; turn < kMaxReads && error_.is_open(); ++turn) {
    const ssize_t count = read(error_.get(), bytes.data(), bytes.size());
    if (count < 0) return;
    if (count == 0) return error_.Close();
    ssh_errors_.append(bytes.data(), static_cast<size_t>(count));
    if (ssh_errors_.size() > kMaxStderrBytes) ssh_errors_.erase(0, ssh_errors_.size() - kMaxStderrBytes);
  }
}

// Ends the connection and returns the reason: SshFailure if `status` is Unavailable and ssh has exited, otherwise
// `status`.
Status HostSession::EndConnection(const Status& status) {
  if (end_reason_.has_value()) return *end_reason_;
  input_.Close();
  for (const Deadline deadline = Deadline::After(kEndTimeout); !ssh_->Poll().has_value() && !deadline.HasPassed();) {
    ReadErrors();  // ssh cannot end while it waits for space in the pipe
    pollfd polled[] = {{ssh_->descriptor(), POLLIN, 0}, {error_.get(), POLLIN, 0}};
    poll(polled, std::size(polled), static_cast<int>(std::chrono::ceil<milliseconds>(deadline.Remaining()).count()));
  }
  ReadErrors();
  const bool is_closed = status.code() == StatusCode::kUnavailable;
  const std::optional<process::ExitState> exit = ssh_->Poll();
  end_reason_ = is_closed && exit.has_value() ? SshFailure(host_.name, options_.program, *exit, ssh_errors_)
                                              : status.While("communicating with " + host_.name);
  return *end_reason_;
}

void HostSession::Close(Deadline deadline) {
  input_.Close();
  while (ssh_.has_value() && !ssh_->Poll().has_value() && !deadline.HasPassed()) {
    ReadErrors();
    if (!end_reason_.has_value() && !pipe_->Receive().ok())
      end_reason_ = Unavailable(host_.name + ": the connection was closed");
    pollfd polled[] = {{ssh_->descriptor(), POLLIN, 0},
                       {error_.get(), POLLIN, 0},
                       {end_reason_.has_value() ? -1 : output_.get(), POLLIN, 0}};
    poll(polled, std::size(polled), static_cast<int>(std::chrono::ceil<milliseconds>(deadline.Remaining()).count()));
  }
  if (!end_reason_.has_value()) end_reason_ = Unavailable(host_.name + ": the connection was closed");
}

}  // namespace espalier::launch
