// Collects the errors of a document, so that one message reports all of them.
#pragma once

#include <string>
#include <vector>

#include "services/base/status.h"
#include "services/job/text/yaml_tree.h"

namespace espalier::job {

class Violations {
 public:
  // source_names[i] is the name of source i (Position::source) in messages: "job.yaml", "--set training.seed". If
  // this name is empty, messages about source i have neither a name nor a position.
  explicit Violations(std::vector<std::string> source_names) : source_names_(std::move(source_names)) {}

  // Adds an error of the field at `path`; an empty path means the document as a whole.
  void Add(Position at, std::string path, std::string message);
  bool empty() const { return violations_.empty(); }

  // Returns InvalidArgument with one line for each of the first 100 violations by position, and a line with the number
  // of further ones; OK if there are no violations.
  Status ToStatus() const;

 private:
  struct Violation {
    Position at;
    std::string path;
    std::string message;
  };

  std::vector<std::string> source_names_;
  std::vector<Violation> violations_;
};

// Returns a value for messages: at most its first 60 bytes in quotes, with '?' for control characters; "..." follows if
// the value is longer.
std::string Shown(const std::string& text);

}  // namespace espalier::job
