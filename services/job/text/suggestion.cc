#include "services/job/text/suggestion.h"

#include <algorithm>
#include <cctype>
#include <numeric>

#include "services/job/text/scalars.h"

namespace espalier::job {
namespace {

constexpr size_t kMaxWordLength = 64;  // longer words are not typing errors; also bounds the cost of EditDistance

// Returns the optimal string alignment distance: the smallest number of insertions, deletions, replacements and swaps
// of adjacent characters. Keeps three rows of the matrix.
size_t EditDistance(const std::string& a, const std::string& b) {
  std::vector<size_t> before_last(b.size() + 1);
  std::vector<size_t> last(b.size() + 1);
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 1; i <= a.size(); ++i) {
    before_last.swap(last);
    last.swap(row);
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t replaced = last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({replaced, last[j] + 1, row[j - 1] + 1});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) row[j] = std::min(row[j], before_last[j - 2] + 1);
    }
  }
  return row.back();
}

}  // namespace

std::string NearestName(std::string_view word, const std::vector<std::string>& candidates) {
  if (word.empty() || word.size() > kMaxWordLength) return "";
  const std::string lower = Lower(word);
  // Accepts a candidate if its edit distance is at most 1 or a third of the word's length, whichever is larger.
  size_t nearest_distance = std::max<size_t>(1, word.size() / 3) + 1;
  std::string nearest;
  for (const std::string& candidate : candidates) {
    const size_t distance = EditDistance(lower, Lower(candidate));
    if (distance >= nearest_distance) continue;
    nearest_distance = distance;
    nearest = candidate;
  }
  return nearest;
}

std::string DidYouMean(std::string_view word, const std::vector<std::string>& candidates) {
  const std::string nearest = NearestName(word, candidates);
  return nearest.empty() ? "" : " (did you mean '" + nearest + "'?)";
}

}  // namespace espalier::job
