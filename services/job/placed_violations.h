// Violations of relations among fields, each where the field that does not fit was written.
#pragma once

#include <string>
#include <vector>

#include "services/job/check_fields.h"

namespace espalier::job {

class PlacedViolations {
 public:
  // Both outlive this.
  PlacedViolations(const CheckedDocument& document, Violations* violations)
      : document_(document), violations_(violations) {}

  // At the field's own place, or at that of the nearest object around it that was written.
  void Add(const std::string& path, const std::string& message);

  // One for each of these fields of an object that is there: of fields without a default, what was written.
  void RefuseFields(const std::string& object_path, const std::vector<const char*>& names, const char* message);

 private:
  const CheckedDocument& document_;
  Violations* const violations_;
};

}  // namespace espalier::job
