// The launcher's connection to one host: an ssh process that runs `espalier host` there (host_agent.h).
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
  std::string version;  // of the launcher; `program` must have the same version
};

// Not thread-safe: used by one thread, which must outlive it (see ChildProcess). After the first error of the
// connection, all calls return this error; Receive and Await first return the messages that arrived before it.
class HostSession {
 public:
  // Resolves the host's address and starts ssh. Does not wait for the connection. NotFound if the name is unknown.
  static Result<std::unique_ptr<HostSession>> Open(const Host& host, const SessionOptions& options);
  // Closes the connection without waiting. The host then stops its processes.
  ~HostSession();

  // Blocks until the agent on the host has sent `hello`. Returns errors of Await; FailedPrecondition if the agent has
  // another version.
  Status AwaitHello(const telemetry::StopSignal& stop, Deadline deadline, Heartbeat& heartbeat);

  const Host& host() const { return host_; }
  const std::string& address() const { return address_; }  // numeric
  // The next three values are set by AwaitHello.
  int processors() const { return processors_; }
  const std::string& program_folder() const { return program_folder_; }
  const std::vector<std::string>& missing() const { return missing_; }  // role binaries that the host lacks

  // Sends a message. Blocks while the pipe is full. After each 64 KiB, `heartbeat` beats, unless it is null. Errors of
  // the pipe end the connection. After an error of the heartbeat, the message may have been sent only in part.
  Status Send(nlohmann::json head, std::string body = {}, Heartbeat* heartbeat = nullptr);
  // Returns the messages that have arrived; does not block.
  Result<std::vector<Message>> Receive();
  // Blocks until a message of this type (its field "is") arrives and returns it. Call this only while no process runs
  // on the host and no other request is pending. A message `failed` of the host becomes an error. Other errors:
  // Cancelled if a stop is requested; DeadlineExceeded, which also ends the connection; errors of `heartbeat`.
  Result<Message> Await(const std::string& type, const telemetry::StopSignal& stop, Deadline deadline,
                        Heartbeat& heartbeat);
  // Reads the messages that have arrived and keeps them for a later Await; does not block. A message `failed` becomes
  // an error.
  Status PollMessages();
  // Closes the connection because of `reason`. Returns the error that all later calls return too.
  Status GiveUp(const Status& reason) { return EndConnection(reason); }
  // Returns the descriptors for poll().
  std::vector<int> descriptors() const { return {output_.get(), error_.get()}; }
  bool is_over() const { return end_reason_.has_value(); }
  // Returns whether the host has sent `hello` and no Send is in progress, so that a ping can be sent.
  bool is_listening() const { return has_received_hello_ && !is_sending_; }
  uint64_t bytes_received() const { return pipe_->bytes_received(); }
  // Closes the agent's input, upon which the agent stops the host's processes and ends. Blocks until ssh has ended or
  // the deadline passes.
  void Close(Deadline deadline);

 private:
  HostSession(Host host, SessionOptions options) : host_(std::move(host)), options_(std::move(options)) {}
  Status EndConnection(const Status& status);
  void ReadErrors();
  void CloseDescriptors();

  const Host host_;
  const SessionOptions options_;
  std::string address_;
  int processors_ = 1;
  std::string program_folder_;
  std::vector<std::string> missing_;
  Descriptor input_, output_, error_;  // this process's ends
  std::string ssh_errors_;             // the last 4096 bytes of standard error
  bool has_received_hello_ = false, is_sending_ = false;
  std::deque<Message> unread_;        // messages that PollMessages has kept
  std::optional<Status> end_reason_;  // why the connection has ended
  std::optional<MessagePipe> pipe_;
  std::optional<process::ChildProcess> ssh_;
};

// Returns the error in a message `failed`, with the host's name.
Status ParseFailure(const HostSession& session, const Message& message);

}  // namespace espalier::launch
