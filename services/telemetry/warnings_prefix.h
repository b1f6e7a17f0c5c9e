// The format of warnings that trainers report to the operator.
#pragma once

namespace espalier::telemetry {

// The prefix of the termination message of a trainer that succeeded with warnings. The texts of the warnings follow.
// The operator creates an event from such a message.
inline constexpr char kWarningsPrefix[] = "trained with warnings: ";

}  // namespace espalier::telemetry
