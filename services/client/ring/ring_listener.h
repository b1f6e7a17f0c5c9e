// The listening port of a rank. Any process that reaches the port may connect. A thread accepts the connections,
// completes their handshakes and receives the first message of each, which must be a JoinRequest or a Greeting. Slow or
// silent connections do not delay others, and the memory and descriptors for connections are limited.
#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "services/base/host_port.h"
#include "services/client/ring/ring_frame.h"
#include "services/client/ring/ring_link.h"
#include "services/client/ring/ring_rendezvous.h"
#include "services/client/ring/ring_socket.h"

namespace espalier::client {

// Thread-safe.
class RingListener {
 public:
  // Listens on an address and starts the thread; port 0 selects a free port. The other arguments must outlive the
  // listener. `tls` is null for plaintext; `rendezvous` is null on ranks other than 0. Unavailable: the port is in use,
  // or the address is not an address of this host. ResourceExhausted: the process has no descriptors or threads left.
  static Result<std::unique_ptr<RingListener>> Start(const HostPort& listen, RingTls* tls, RingLink& link,
                                                     RingRendezvous* rendezvous);
  // Responds to the waiting join requests if the group is complete, as far as possible without blocking, and closes all
  // connections that the link has not taken over.
  ~RingListener();

  uint16_t port() const { return port_; }
  // Makes the thread respond to the waiting join requests if the group is complete. Call it after
  // RingRendezvous::AddOwn, which may complete the group.
  void RespondToJoins() { waker_.Wake(); }

 private:
  struct Connection;

  RingListener(Descriptor listening, RingWaker waker, uint16_t port, RingTls* tls, RingLink& link,
               RingRendezvous* rendezvous);
  void Run(const std::stop_token& stop);
  // Accepts pending connections, at most kMaxAcceptedAtOnce. Returns false if the process or the host has no
  // descriptors or no memory left.
  bool Accept();
  // Closes the oldest connection that does not wait for the response to a JoinRequest.
  void DropOldestUnidentified();
  // Continues the handshake, the first message or the response of a connection without blocking. Returns whether the
  // connection remains in connections_, as do ReceiveFirstMessage, AwaitResponse and SendResponse.
  bool Advance(Connection& connection, bool has_event);
  bool ReceiveFirstMessage(Connection& connection);
  // Passes the first message to the link or the rendezvous. After an error, call Refuse.
  Status HandleFirstMessage(Connection& connection);
  bool AwaitResponse(Connection& connection, bool has_event);
  bool SendResponse(Connection& connection);
  // Sets the response of the connection to an End message with the reason.
  void Refuse(Connection& connection, const Status& reason);

  const Descriptor listening_;
  const uint16_t port_;
  RingTls* const tls_;
  RingLink& link_;
  RingRendezvous* const rendezvous_;
  const int max_unidentified_;
  const std::string subject_;  // of log lines
  const RingWaker waker_;
  // The thread owns the next two members.
  std::list<Connection> connections_;  // oldest first
  uint64_t last_number_ = 0;           // number of the newest connection
  std::jthread thread_;                // last: joined before the members that it uses are destroyed
};

}  // namespace espalier::client
