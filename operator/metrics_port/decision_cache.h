// Recent decisions about bearer tokens, so that a scraper does not cost two requests to the API server each time.
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
  kForbidden,       // the token is valid, and its user may not get the metrics
  kUnauthenticated  // the API server does not accept the token
};

struct DecisionCacheOptions {
  std::chrono::seconds keep_allowed{60};
  std::chrono::seconds keep_refused{10};
  size_t max_decisions = 256;
};

// Holds digests of tokens, not the tokens. Owned by one thread; `clock` must outlive it.
class DecisionCache {
 public:
  explicit DecisionCache(DecisionCacheOptions options = {}, Clock& clock = Clock::Real())
      : options_(options), clock_(clock) {}

  // Returns the decision about the token, or nullopt if there is none that is recent enough.
  std::optional<Decision> Find(std::string_view token) const;
  // Keeps the decision. A full cache first drops the decision that expires first: refusals before permissions.
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
