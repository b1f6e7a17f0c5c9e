// The port of a rank. Any process that reaches it may connect: a thread accepts connections, does their handshakes and
// receives the first message of each, a JoinRequest or a Greeting; all others are refused. Strangers that are slow or
// silent do not delay others, and what the port holds for them is bounded.
#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "services/client/ring/ring_frame.h"
#include "services/client/ring/ring_link.h"
#include "services/client/ring/ring_rendezvous.h"
#include "services/client/ring/ring_socket.h"
#include "services/rpc/address.h"

namespace espalier::client {

// Thread-safe.
class RingListener {
 public:
  // Listens on an address; port 0 picks a free one. The other arguments must outlive the listener; `tls` is null for
  // plaintext, `rendezvous` on ranks other than 0. Unavailable: the port is in use or the address is not of this host.
  // ResourceExhausted: the process has no descriptors or threads left.
  static Result<std::unique_ptr<RingListener>> Start(const rpc::HostPort& listen, RingTls* tls, RingLink& link,
                                                     RingRendezvous* rendezvous);
  // Sends the answers that are known and closes all connections that the link has not taken.
  ~RingListener();

  uint16_t port() const { return port_; }
  // Sends the answers to join requests that have become known. To be called after AddOwn.
  void AnswerJoins() { waker_.Wake(); }

 private:
  struct Connection;

  RingListener(Descriptor listening, RingWaker waker, uint16_t port, RingTls* tls, RingLink& link,
               RingRendezvous* rendezvous);
  void Run(const std::stop_token& stop);
  // Accepts all connections that wait; returns false if the process has no descriptor for one.
  bool Accept();
  void DropOldestStranger();
  // Returns whether the connection remains in connections_.
  bool Advance(Connection& connection, bool has_event);
  bool ReceiveFirst(Connection& connection);
  Status HandleFirst(Connection& connection);
  bool AwaitAnswer(Connection& connection, bool has_event);
  bool SendAnswer(Connection& connection);
  void Refuse(Connection& connection, const Status& why);

  const Descriptor listening_;
  const uint16_t port_;
  RingTls* const tls_;
  RingLink& link_;
  RingRendezvous* const rendezvous_;
  const int max_strangers_;
  const std::string subject_;  // of lines of the log
  const RingWaker waker_;
  // Owned by the thread.
  std::list<Connection> connections_;  // oldest first
  uint64_t last_number_ = 0;           // of a connection
  std::jthread thread_;                // last: joins before the members that it uses are destroyed
};

}  // namespace espalier::client
