// A TCP proxy between a client and an API server that simulates faults of networks: resets, delays, cuts in the middle
// of an event, silent open connections, and refused connections. It does not interpret the bytes, so TLS passes
// through. faulty_api_transport.h has the faults of HTTP, such as 409.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "services/base/clock.h"
#include "services/base/mutex.h"
#include "services/base/status.h"

namespace espalier::ctl::client {

// Thread-safe. A fault is in effect when its call returns.
class FaultProxy {
 public:
  // Starts a proxy from a free port of 127.0.0.1 to the given port of 127.0.0.1.
  static Result<std::unique_ptr<FaultProxy>> Start(uint16_t to_port);
  ~FaultProxy();

  uint16_t port() const { return port_; }

  // Resets every open connection.
  void Drop();
  // Refuses new connections (ECONNREFUSED) until it is called with false. Open connections are not affected.
  void Refuse(bool refuse);
  // Delays all bytes that arrive from now on, in both directions; 0: no delay.
  void Delay(std::chrono::milliseconds delay);
  // Passes `num_bytes` more bytes to the client, then resets the connection that would get the next byte. Once.
  void CutAfter(int64_t num_bytes);
  // Passes no bytes in either direction, like a lost network: connections stay open and new ones are accepted. Ends
  // when it is called with false; connections from before stay silent.
  void Silence(bool silent);

  struct Counts {
    int64_t accepted = 0;  // connections since the start
    int64_t open = 0;
    int64_t bytes_to_client = 0;
  };
  Counts counts();

 private:
  class Link;  // a connection of a client with the one to the server
  FaultProxy() = default;
  Status Listen();
  Result<int> BoundSocket(uint16_t port) const;
  void Run(std::function<void()> command);  // runs it on the loop's thread and waits until it is done
  void Loop();
  void RunCommands();
  void Accept();

  uint16_t port_ = 0;
  uint16_t to_port_ = 0;
  int reserved_ = -1;  // bound but never listening: reserves the port while listener_ is closed
  int wake_ = -1;      // an eventfd
  Mutex mutex_;
  std::deque<std::function<void()>> commands_ ABSL_GUARDED_BY(mutex_);
  // Used only by the loop's thread.
  int listener_ = -1;
  bool is_ending_ = false;
  bool is_silent_ = false;
  std::chrono::milliseconds delay_{0};
  std::optional<int64_t> bytes_until_cut_;
  Counts counts_;
  std::vector<std::unique_ptr<Link>> links_;
  std::thread loop_;
};

}  // namespace espalier::ctl::client
