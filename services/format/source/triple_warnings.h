// Collects warnings about triple files: probable header lines, and names with leading or trailing blanks. ReadTriples
// reads both as data.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace espalier::format {

// Returns true if the fields (head, relation, tail) of the first line of a file look like names of columns, for example
// "head", "relation", "tail" or "subject", "predicate", "object". Case-insensitive.
bool LooksLikeHeader(const std::array<std::string_view, 3>& fields);

// Returns true if a name begins or ends with a blank. Requires that it is not empty.
inline bool HasBlankEnds(std::string_view name) { return name.front() == ' ' || name.back() == ' '; }

// Thread-compatible.
class TripleWarnings {
 public:
  // Adds a line that looks like a header. `where` is its position, "train.txt:1".
  void AddHeader(const std::string& where, const std::array<std::string_view, 3>& fields);
  // Adds a name with leading or trailing blanks. Call it once for each distinct name.
  void AddName(const std::string& where, std::string_view name);

  // Returns one sentence for each kind of warning that occurred, with the number of occurrences and the first one.
  std::vector<std::string> Take() &&;

 private:
  uint64_t num_headers_ = 0, num_names_ = 0;
  std::string first_header_, first_name_;
};

}  // namespace espalier::format
