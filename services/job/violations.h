// What is wrong with a document, collected, so that its author sees everything at once.
#pragma once

#include <string>
#include <vector>

#include "services/base/status.h"
#include "services/job/yaml_tree.h"

namespace espalier::job {

class Violations {
 public:
  // source_names[i] stands in front of violations of source i: "job.yaml", "--set training.seed". "": neither a
  // name nor places stand there.
  explicit Violations(std::vector<std::string> source_names) : source_names_(std::move(source_names)) {}

  // `path` is empty where the document as a whole is meant.
  void Add(Position at, std::string path, std::string message);
  bool empty() const { return violations_.empty(); }

  // InvalidArgument with one line per violation, in document order; ok when there are none.
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

// A value as messages show it: on one line, cut after 60 bytes.
std::string Shown(const std::string& text);

}  // namespace espalier::job
