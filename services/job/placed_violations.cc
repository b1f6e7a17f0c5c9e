#include "services/job/placed_violations.h"

#include <algorithm>

namespace espalier::job {

void PlacedViolations::Add(const std::string& path, const std::string& message) {
  std::string place = path;
  while (!document_.positions.contains(place)) {
    const size_t cut = place.find_last_of(".[");
    if (cut == std::string::npos) break;
    place.resize(cut);
  }
  const auto found = document_.positions.find(place);
  violations_->Add(found == document_.positions.end() ? Position{0, 1, 1} : found->second, path, message);
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
