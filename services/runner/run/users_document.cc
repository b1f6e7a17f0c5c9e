#include "services/runner/run/users_document.h"

#include <algorithm>
#include <cctype>
#include <string_view>

namespace espalier::run {
namespace {

bool TakeText(std::string_view text, std::string_view* rest) {
  if (!rest->starts_with(text)) return false;
  rest->remove_prefix(text.size());
  return true;
}

bool TakeNumber(std::string_view* rest) {
  const auto end =
      std::find_if(rest->begin(), rest->end(), [](char c) { return std::isdigit(static_cast<unsigned char>(c)) == 0; });
  if (end == rest->begin()) return false;
  rest->remove_prefix(static_cast<size_t>(end - rest->begin()));
  return true;
}

// Skips a status code such as "INVALID_ARGUMENT: ", which adds nothing to an error with a position.
void PassStatusCode(std::string_view* rest) {
  const size_t end = rest->find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZ_");
  if (end == 0 || end == std::string_view::npos || !rest->substr(end).starts_with(": ")) return;
  rest->remove_prefix(end + 2);
}

// Returns the line with the position of the user's document.
std::string TranslateLine(std::string_view line, const std::string& job_file, const job::DocumentPlaces& places) {
  std::string_view rest = line;
  PassStatusCode(&rest);
  const bool has_place = TakeText(job_file, &rest) && TakeText(":", &rest) && TakeNumber(&rest) &&
                         TakeText(":", &rest) && TakeNumber(&rest) && TakeText(": ", &rest);
  const size_t end_of_path = rest.find(": ");
  if (!has_place || end_of_path == std::string_view::npos) return std::string(line);
  return places.Of(std::string(rest.substr(0, end_of_path))) + std::string(rest);
}

}  // namespace

std::string TranslatePositions(const std::string& text, const std::string& job_file,
                               const job::DocumentPlaces& places) {
  std::string said;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    said +=
        (begin == 0 ? "" : "\n") + TranslateLine(std::string_view(text).substr(begin, end - begin), job_file, places);
    begin = end + 1;
  }
  return said;
}

}  // namespace espalier::run
