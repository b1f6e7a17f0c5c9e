// Warnings about triple files: header lines, and names with leading or trailing blanks. Both are read as written.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace espalier::format {

// Whether the fields of a file's first line (head, relation, tail) are names of columns, in any case: "head relation
// tail", "subject,predicate,object", "h r t" and the like.
bool LooksLikeHeader(const std::array<std::string_view, 3>& fields);

// Whether a name, which is not empty, begins or ends with a blank.
inline bool HasBlankEnds(std::string_view name) { return name.front() == ' ' || name.back() == ' '; }

// Owned by one thread.
class TripleWarnings {
 public:
  // A line that looks like a header; `where` is "train.txt:1".
  void AddHeader(const std::string& where, const std::array<std::string_view, 3>& fields);
  // A name with blank ends, when it comes for the first time.
  void AddName(const std::string& where, std::string_view name);

  // One sentence for each kind that occurred: how often, and the first one.
  std::vector<std::string> Take() &&;

 private:
  uint64_t num_headers_ = 0, num_names_ = 0;
  std::string first_header_, first_name_;
};

}  // namespace espalier::format
