#include "services/job/text/document_places.h"

namespace espalier::job {

Position FindPosition(const FieldPositions& positions, std::string path) {
  while (!positions.contains(path)) {
    const size_t cut = path.find_last_of(".[");
    if (cut == std::string::npos) return {0, 1, 1};
    path.resize(cut);
  }
  return positions.at(path);
}

std::string PlaceText(const std::vector<std::string>& source_names, Position at) {
  const std::string& name = source_names.at(static_cast<size_t>(at.source));
  if (name.empty()) return "";
  if (at.source != 0) return name + ": ";
  return name + ':' + std::to_string(at.line) + ':' + std::to_string(at.column) + ": ";
}

std::string DocumentPlaces::Of(const std::string& path) const {
  return source_names_.empty() ? "" : PlaceText(source_names_, FindPosition(positions_, path));
}

}  // namespace espalier::job
