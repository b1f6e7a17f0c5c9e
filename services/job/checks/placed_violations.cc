#include "services/job/checks/placed_violations.h"

#include <algorithm>

#include "services/job/text/document_places.h"

namespace espalier::job {

void PlacedViolations::Add(const std::string& path, const std::string& message) {
  violations_->Add(FindPosition(document_.positions, path), path, message);
}

void PlacedViolations::RefuseFields(const std::string& object_path, const std::vector<const char*>& names,
                                    const char* message) {
  const nlohmann::ordered_json* object = &document_.values;
  for (size_t begin = 0; begin < object_path.size();) {
    const size_t end = std::min(object_path.find('.', begin), object_path.size());
    const auto found = object->find(object_path.substr(begin, end - begin));
    if (found == object->end()) return;
    object = &*found;
    begin = end + 1;
  }
  for (const char* name : names) {
    if (object->contains(name)) Add(object_path + "." + name, message);
  }
}

}  // namespace espalier::job
