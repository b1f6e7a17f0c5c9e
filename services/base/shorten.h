// Shortens text for fields of limited size: conditions, events, termination messages and RPC status messages.
#pragma once

#include <string>
#include <string_view>

namespace espalier {

// Returns `text` in at most `max_bytes` bytes; `max_bytes` >= 16. If it does not fit, " ... " replaces the middle,
// because the first line says what failed and the last lines of a stack trace say why. The first line gets at most half
// of the space, the end of the text the rest. UTF-8 text is cut between characters.
std::string ShortenMiddle(std::string_view text, size_t max_bytes);

}  // namespace espalier
