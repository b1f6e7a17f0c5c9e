// Positions of a document's fields, for messages about errors that are found after parsing.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "services/job/text/yaml_tree.h"

namespace espalier::job {

using FieldPositions = std::map<std::string, Position>;  // by path, as in "spec.training.inputs[0].features"

// Returns the position of the field at `path`; if `positions` lacks it, that of its nearest ancestor in `positions`; if
// there is none, the start of the document.
Position FindPosition(const FieldPositions& positions, std::string path);

// Returns the prefix of a message about position `at`: "job.yaml:12:5: " or "--set training.seed: ". source_names[i] is
// the name of source i (Position::source); if that name is empty, returns "".
std::string PlaceText(const std::vector<std::string>& source_names, Position at);

// Immutable; thread-safe.
class DocumentPlaces {
 public:
  DocumentPlaces() = default;  // no document: Of() always returns ""
  DocumentPlaces(std::vector<std::string> source_names, FieldPositions positions)
      : source_names_(std::move(source_names)), positions_(std::move(positions)) {}

  // Returns the prefix of a message about the field at `path`: "job.yaml:12:5: ".
  std::string Of(const std::string& path) const;

 private:
  std::vector<std::string> source_names_;
  FieldPositions positions_;
};

}  // namespace espalier::job
