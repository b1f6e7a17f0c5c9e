// A TCP proxy between a client and a server that misbehaves as networks and middle boxes do, for tests that must not
// notice: it cuts connections in the middle of a message, holds bytes back, and sends a whole connection's requests to
// the server a second time, later.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>

namespace espalier::rpc::testing {

struct FaultProxyOptions {
  std::string server;  // "127.0.0.1:port"
  uint64_t seed = 0;   // of the faults' random numbers
  // Probabilities for each piece of bytes that arrives from either side.
  double cut = 0;    // half of the piece is passed on, then both ends are closed
  double delay = 0;  // held back, and what comes after it, up to max_delay_ms
  // For each connection that was cut: everything that its client sent goes to the server once more on a connection of
  // its own, whose answers nobody reads.
  double repeat = 0;
  uint32_t max_delay_ms = 20;
};

// Thread-safe. Runs one thread until it is destroyed; then every connection is closed.
class FaultProxy {
 public:
  explicit FaultProxy(const FaultProxyOptions& options);
  ~FaultProxy();
  FaultProxy(const FaultProxy&) = delete;
  FaultProxy& operator=(const FaultProxy&) = delete;

  const std::string& address() const { return address_; }
  uint64_t cuts() const { return counts_.cuts.load(); }
  uint64_t delays() const { return counts_.delays.load(); }
  uint64_t repeats() const { return counts_.repeats.load(); }

 private:
  class Loop;
  struct Counts {  // atomic, because the loop's thread counts while tests look
    std::atomic<uint64_t> cuts = 0, delays = 0, repeats = 0;
  };

  Counts counts_;
  std::string address_;
  int wake_descriptor_ = -1;  // written to end the loop
  std::unique_ptr<Loop> loop_;
  std::jthread thread_;  // last: joins before what it uses goes away
};

}  // namespace espalier::rpc::testing
