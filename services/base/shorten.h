// Text that has to fit into a field of limited size: conditions, events, termination messages, RPC status messages.
#pragma once

#include <string>
#include <string_view>

namespace espalier {

// Returns `text` in at most `max_bytes` (at least 16). Text that does not fit loses its middle, for " ... ": the first
// line says what failed, and the last lines of a stack trace say why. The first line gets at most half of the room, the
// end of the text the rest. UTF-8 is cut between characters.
std::string ShortenMiddle(std::string_view text, size_t max_bytes);

}  // namespace espalier
