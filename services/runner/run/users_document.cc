#include "services/runner/run/users_document.h"

#include <algorithm>
#include <cctype>
#include <string_view>

namespace espalier::run {
namespace {

// Removes `text` from the beginning of *rest. Returns false if *rest does not begin with it.
bool ConsumeText(std::string_view text, std::string_view* rest) {
  if (!rest->starts_with(text)) return false;
  rest->remove_prefix(text.size());
  return true;
}

// Removes the digits at the beginning of *rest. Returns false if there are none.
bool ConsumeNumber(std::string_view* rest) {
  const auto end =
      std::find_if(rest->begin(), rest->end(), [](char c) { return std::isdigit(static_cast<unsigned char>(c)) == 0; });
  if (end == rest->begin()) return false;
  rest->remove_prefix(static_cast<size_t>(end - rest->begin()));
  return true;
}

// Skips a status code such as "INVALID_ARGUMENT: ", which adds nothing to an error with a position.
void SkipStatusCode(std::string_view* rest) {
  const size_t end = rest->find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZ_");
  if (end == 0 || end == std::string_view::npos || !rest->substr(end).starts_with(": ")) return;
  rest->remove_prefix(end + 2);
}

// Returns the line with its position translated, or unchanged if it does not begin with a position in `job_file`.
std::string TranslateLine(std::string_view line, const std::string& job_file, const job::DocumentPlaces& places) {
  std::string_view rest = line;
  SkipStatusCode(&rest);
  const bool has_place = ConsumeText(job_file, &rest) && ConsumeText(":", &rest) && ConsumeNumber(&rest) &&
                         ConsumeText(":", &rest) && ConsumeNumber(&rest) && ConsumeText(": ", &rest);
  const size_t end_of_path = rest.find(": ");
  if (!has_place || end_of_path == std::string_view::npos) return std::string(line);
  return places.Of(std::string(rest.substr(0, end_of_path))) + std::string(rest);
}

}  // namespace

std::string TranslatePositions(const std::string& text, const std::string& job_file,
                               const job::DocumentPlaces& places) {
  std::string translated;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    translated +=
        (begin == 0 ? "" : "\n") + TranslateLine(std::string_view(text).substr(begin, end - begin), job_file, places);
    begin = end + 1;
  }
  return translated;
}

}  // namespace espalier::run
