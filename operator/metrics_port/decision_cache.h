// A cache of decisions about bearer tokens, so that not every scrape sends two requests to the API server.
#pragma once

#include <chrono>
#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "services/base/clock.h"

namespace espalier::ctl::metrics_port {

enum class Decision {
  kAllowed,
  kForbidden,       // the token is valid, but its user may not get the metrics
  kUnauthenticated  // the API server does not accept the token
};

struct DecisionCacheOptions {
  // How long a decision is used.
  std::chrono::seconds keep_allowed{60};
  std::chrono::seconds keep_refused{10};  // kForbidden and kUnauthenticated
  size_t max_decisions = 256;
};

// Stores digests of tokens, not the tokens. Not thread-safe. `clock` must outlive it.
class DecisionCache {
 public:
  explicit DecisionCache(DecisionCacheOptions options = {}, Clock& clock = Clock::Real())
      : options_(options), clock_(clock) {}

  // Returns the decision about the token, or nullopt if there is none that is recent enough.
  std::optional<Decision> Find(std::string_view token) const;
  // Stores the decision. If there are then too many decisions, drops the one that expires first, usually a refusal.
  void Keep(std::string_view token, Decision decision);
  size_t size() const { return kept_.size(); }

 private:
  struct Kept {
    Decision decision;
    SteadyTime expires_at;
  };

  const DecisionCacheOptions options_;
  Clock& clock_;
  std::map<std::string, Kept> kept_;  // by the token's SHA-256
};

}  // namespace espalier::ctl::metrics_port
