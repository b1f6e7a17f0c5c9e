// Where the fields of a document were written, for those who find one wrong long after it was parsed.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "services/job/yaml_tree.h"

namespace espalier::job {

using FieldPositions = std::map<std::string, Position>;  // "spec.training.inputs[0].features" -> where it stands

// Of the field, or of the nearest object around it that was written; else the document's start.
Position FindPosition(const FieldPositions& positions, std::string path);

// "job.yaml:12:5: " or "--set training.seed: ". source_names[i] is the name of source i; "" where that is empty.
std::string PlaceText(const std::vector<std::string>& source_names, Position at);

// Immutable; thread-safe.
class DocumentPlaces {
 public:
  DocumentPlaces() = default;  // of no document: every place is ""
  DocumentPlaces(std::vector<std::string> source_names, FieldPositions positions)
      : source_names_(std::move(source_names)), positions_(std::move(positions)) {}

  // What stands before a message about the field at `path`: "job.yaml:12:5: ".
  std::string Of(const std::string& path) const;

 private:
  std::vector<std::string> source_names_;
  FieldPositions positions_;
};

}  // namespace espalier::job
