#include "services/runner/run/log_tail.h"

#include <algorithm>
#include <cctype>
#include <fstream>
#include <nlohmann/json.hpp>

#include "services/base/shorten.h"

namespace espalier::run {
namespace {

constexpr std::streamoff kTailBytes = 64 << 10;
constexpr size_t kMaxBytesPerLine = 400;  // a logged configuration has thousands of bytes and would hide the error

std::string Printable(std::string text) {
  std::replace_if(
      text.begin(), text.end(), [](unsigned char c) { return c < 0x20 || c == 0x7f; }, '?');
  return text;
}

std::string Upper(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return text;
}

}  // namespace

std::string ReadableLine(const std::string& line) {
  if (!line.starts_with('{')) return Printable(line);
  const auto record = nlohmann::ordered_json::parse(line, nullptr, /*allow_exceptions=*/false);
  if (!record.is_object() || !record.contains("message") || !record["message"].is_string()) return Printable(line);
  std::string text;
  const auto level = record.find("level");
  if (level != record.end() && level->is_string()) text = Upper(level->get<std::string>()) + " ";
  text += record["message"].get<std::string>();
  for (const auto& [key, value] : record.items()) {
    if (key == "message" || key == "level" || key == "time" || key == "role") continue;
    text += " " + key + "=" + (value.is_string() ? value.get<std::string>() : value.dump());
  }
  return Printable(text);
}

std::vector<std::string> LastLines(const std::string& path, size_t count) {
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  if (!file) return {};
  const std::streamoff size = file.tellg();
  // Starts one byte before the tail: if that is a line break, the tail starts with a complete line.
  const std::streamoff first = std::max<std::streamoff>(0, size - kTailBytes - 1);
  file.seekg(first);
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(std::move(line));
  if (first > 0 && !lines.empty()) lines.erase(lines.begin());  // the rest of an earlier line
  if (lines.size() > count) lines.erase(lines.begin(), lines.end() - static_cast<std::ptrdiff_t>(count));
  for (std::string& line : lines) line = ShortenMiddle(ReadableLine(line), kMaxBytesPerLine);
  return lines;
}

}  // namespace espalier::run
