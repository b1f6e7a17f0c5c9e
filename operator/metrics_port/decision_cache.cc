#include "operator/metrics_port/decision_cache.h"

#include <algorithm>

#include "services/base/sha256.h"

namespace espalier::ctl::metrics_port {

std::optional<Decision> DecisionCache::Find(std::string_view token) const {
  const auto found = kept_.find(Sha256Hex(token));
  if (found == kept_.end() || clock_.Now() >= found->second.expires_at) return std::nullopt;
  return found->second.decision;
}

void DecisionCache::Keep(std::string_view token, Decision decision) {
  const auto keep = decision == Decision::kAllowed ? options_.keep_allowed : options_.keep_refused;
  kept_.insert_or_assign(Sha256Hex(token), Kept{decision, clock_.Now() + keep});
  if (kept_.size() <= options_.max_decisions) return;
  kept_.erase(std::min_element(kept_.begin(), kept_.end(),
                               [](const auto& a, const auto& b) { return a.second.expires_at < b.second.expires_at; }));
}

}  // namespace espalier::ctl::metrics_port
