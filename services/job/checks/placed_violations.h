// Violations of relations between fields, each with the position of the field that is wrong.
#pragma once

#include <string>
#include <vector>

#include "services/job/checks/check_fields.h"

namespace espalier::job {

class PlacedViolations {
 public:
  // Both arguments must outlive this object.
  PlacedViolations(const CheckedDocument& document, Violations* violations)
      : document_(document), violations_(violations) {}

  // Adds a violation at the position of the field, or of its nearest ancestor in the document.
  void Add(const std::string& path, const std::string& message);

  // Adds a violation for each field in `names` that the object at `object_path` has; none if there is no such object.
  // Only for fields without a default: the checked document contains the others always.
  void RefuseFields(const std::string& object_path, const std::vector<const char*>& names, const char* message);

 private:
  const CheckedDocument& document_;
  Violations* const violations_;
};

}  // namespace espalier::job
