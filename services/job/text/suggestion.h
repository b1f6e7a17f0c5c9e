// "did you mean" suggestions: the known name that is most similar to a misspelled one.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace espalier::job {

// Returns the candidate with the smallest edit distance to `word` (case-insensitive), or "" if that distance exceeds a
// third of the word's length (1 for short words) or the word has more than 64 letters.
std::string NearestName(std::string_view word, const std::vector<std::string>& candidates);

// Returns " (did you mean 'epochs'?)" for the name that NearestName returns, or "" if that is empty.
std::string DidYouMean(std::string_view word, const std::vector<std::string>& candidates);

}  // namespace espalier::job
