// "did you mean": the nearest of the known names.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace espalier::job {

// The candidate nearest to `word` (case does not count), or "" where none is near enough to be meant.
std::string NearestName(std::string_view word, const std::vector<std::string>& candidates);

// " (did you mean 'epochs'?)", or "".
std::string DidYouMean(std::string_view word, const std::vector<std::string>& candidates);

}  // namespace espalier::job
