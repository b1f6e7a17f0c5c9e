// What trainers and the operator agree on about warnings.
#pragma once

namespace espalier::telemetry {

// Begins the termination message of a trainer that ended well and has warnings; their texts follow. The operator makes
// an event of such a message.
inline constexpr char kWarningsPrefix[] = "trained with warnings: ";

}  // namespace espalier::telemetry
