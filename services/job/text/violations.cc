#include "services/job/text/violations.h"

#include <algorithm>

#include "services/job/text/document_places.h"

namespace espalier::job {
namespace {

constexpr size_t kMaxShown = 100;

}  // namespace

void Violations::Add(Position at, std::string path, std::string message) {
  violations_.push_back({at, std::move(path), std::move(message)});
}

Status Violations::ToStatus() const {
  if (violations_.empty()) return {};
  std::vector<Violation> sorted = violations_;
  std::stable_sort(sorted.begin(), sorted.end(), [](const Violation& a, const Violation& b) { return a.at < b.at; });
  std::string text;
  for (size_t i = 0; i < std::min(sorted.size(), kMaxShown); ++i) {
    const Violation& violation = sorted[i];
    if (!text.empty()) text += '\n';
    text += PlaceText(source_names_, violation.at);
    text += (violation.path.empty() ? "" : violation.path + ": ") + violation.message;
  }
  if (sorted.size() > kMaxShown) text += "\n... and " + std::to_string(sorted.size() - kMaxShown) + " more";
  return InvalidArgument(text);
}

std::string Shown(const std::string& text) {
  constexpr size_t kMaxSize = 60;
  std::string shown;
  size_t size = std::min(text.size(), kMaxSize);
  while (size > 0 && size < text.size() && (static_cast<unsigned char>(text[size]) & 0xC0) == 0x80) --size;
  for (const char c : text.substr(0, size)) shown += static_cast<unsigned char>(c) < 0x20 || c == 0x7f ? '?' : c;
  return "'" + shown + "'" + (text.size() > kMaxSize ? "..." : "");
}

}  // namespace espalier::job
