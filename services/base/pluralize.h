// Counts with nouns for messages.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace espalier {

// Returns the count and the noun, in the plural unless the count is 1: "1 file", "0 files", "2 classes". `noun` is an
// English word whose plural ends in "s", or in "es" after an "s".
std::string Pluralize(uint64_t count, std::string_view noun);

}  // namespace espalier
