// A TCP proxy that injects faults of networks and middleboxes between a client and a server: it closes connections in
// the middle of a message, delays bytes, and later sends the requests of a whole connection to the server a second
// time.
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
  double cut = 0;    // half of the piece is forwarded, then both ends are closed
  double delay = 0;  // delayed together with the bytes that follow, by up to max_delay_ms
  // Probability that after a cut everything that the client sent is sent to the server again on a separate connection,
  // whose responses are discarded.
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
  std::jthread thread_;  // last: joins before the members that it uses are destroyed
};

}  // namespace espalier::rpc::testing
