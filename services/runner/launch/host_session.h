// One host of a launch: an ssh connection with `espalier host` at its other end (host_agent.h).
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "services/base/descriptor.h"
#include "services/process/child_process.h"
#include "services/runner/launch/heartbeat.h"
#include "services/runner/launch/hosts_file.h"
#include "services/runner/launch/message.h"
#include "services/runner/launch/ssh_command.h"
#include "services/telemetry/process.h"

namespace espalier::launch {

struct SessionOptions {
  SshOptions ssh;
  std::string program;  // path of `espalier` on the host
  std::string version;  // of this one: the host's must be the same
};

// Owned by one thread, which must outlive it.
class HostSession {
 public:
  // Starts ssh; waits for nothing.
  static Result<std::unique_ptr<HostSession>> Open(const Host& host, const SessionOptions& options);
  // The connection is closed: what runs on the host is stopped there.
  ~HostSession();

  // Until the host's process has said what it is. Errors of SshFailure; FailedPrecondition: another version.
  Status AwaitHello(const telemetry::StopSignal& stop, Deadline deadline, Heartbeat& heartbeat);

  const Host& host() const { return host_; }
  const std::string& address() const { return address_; }  // numeric
  // After AwaitHello.
  int processors() const { return processors_; }
  const std::string& program_folder() const { return program_folder_; }
  const std::vector<std::string>& missing() const { return missing_; }  // role binaries

  // Errors say that the connection is over, and why; those of the heartbeat, which beats while the pipe is full, leave
  // it so.
  Status Send(nlohmann::json head, std::string body = {}, Heartbeat* heartbeat = nullptr);
  // What came, without waiting.
  Result<std::vector<Message>> Receive();
  // The message that says what it `is`, while nothing else is under way on the host. Its own failure is an error.
  // Cancelled where a stop is requested; the heartbeat's errors.
  Result<Message> Await(const std::string& is, const telemetry::StopSignal& stop, Deadline deadline,
                        Heartbeat& heartbeat);
  // Takes what has come for a later Await, without waiting. The host's failure is an error.
  Status Look();
  // Closes a connection that is of no use any more; the reason is what its calls say from now on.
  Status GiveUp(const Status& reason) { return Over(reason); }
  // For poll().
  std::vector<int> descriptors() const { return {output_.get(), error_.get()}; }
  bool is_over() const { return over_.has_value(); }
  // Has said hello, and is not in the middle of a Send.
  bool is_listening() const { return has_said_hello_ && !is_sending_; }
  uint64_t bytes_received() const { return pipe_->bytes_received(); }
  // The host ends its processes and goes; whoever does not by the deadline is left to the end of its connection.
  void Close(Deadline deadline);

 private:
  HostSession(Host host, SessionOptions options) : host_(std::move(host)), options_(std::move(options)) {}
  Status Over(const Status& status);
  void ReadErrors();
  void CloseDescriptors();

  const Host host_;
  const SessionOptions options_;
  std::string address_;
  int processors_ = 1;
  std::string program_folder_;
  std::vector<std::string> missing_;
  Descriptor input_, output_, error_;  // this process's ends
  std::string said_;                   // the last of standard error
  bool has_said_hello_ = false, is_sending_ = false;
  std::deque<Message> kept_;  // by Look
  std::optional<Status> over_;
  std::optional<MessagePipe> pipe_;
  std::optional<process::ChildProcess> ssh_;
};

// What the host's message `failed` says.
Status ParseFailure(const HostSession& session, const Message& message);

}  // namespace espalier::launch
