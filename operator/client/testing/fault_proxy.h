// A TCP proxy between a client and an API server that does to their bytes what networks do: drops, delays, cuts in the
// middle of an event, falls silent with the connection open, refuses. It does not look into them, so TLS passes
// through. (Faults of HTTP, 409 and the like, are faulty_api_transport.h.)
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

// Thread-safe. What is told has happened when the call returns.
class FaultProxy {
 public:
  // From a free port of 127.0.0.1 to another of its ports.
  static Result<std::unique_ptr<FaultProxy>> Start(uint16_t to_port);
  ~FaultProxy();

  uint16_t port() const { return port_; }

  // Resets every open connection.
  void Drop();
  // Nobody can connect (ECONNREFUSED), until told otherwise; what is open stays.
  void Refuse(bool refuse);
  // What arrives from now on, in either direction, leaves so much later; 0: at once.
  void Delay(std::chrono::milliseconds delay);
  // Lets so many more bytes through to the client, then resets the connection that would get the next. Once.
  void CutAfter(int64_t num_bytes);
  // Nothing passes, either way; connections stay open and can be made: what a lost network looks like. Until told
  // otherwise; then those of before never speak again.
  void Silence(bool silent);

  struct Counts {
    int64_t accepted = 0;  // connections, ever
    int64_t open = 0;
    int64_t bytes_to_client = 0;
  };
  Counts counts();

 private:
  class Link;  // a connection and its other half
  FaultProxy() = default;
  Status Listen();
  Result<int> BoundSocket(uint16_t port) const;
  void Run(std::function<void()> command);  // on the loop's thread; waits until it is done
  void Loop();
  void RunCommands();
  void Accept();

  uint16_t port_ = 0;
  uint16_t to_port_ = 0;
  int reserved_ = -1;  // bound, never listening: keeps the port while nobody listens
  int wake_ = -1;      // an eventfd
  Mutex mutex_;
  std::deque<std::function<void()>> commands_ ABSL_GUARDED_BY(mutex_);
  // The loop's own.
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
