// YAML as a tree that remembers where everything stood. Read from the parser's events, not from yaml-cpp's nodes,
// so that quoting, duplicate keys, aliases and depth stay visible. Untrusted input: bounded in every direction.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "services/base/status.h"

namespace espalier::job {

struct Position {
  int source = 0;  // 0: the document; i: override i - 1
  int line = 0;    // from 1
  int column = 0;  // from 1
  friend auto operator<=>(const Position&, const Position&) = default;
};

enum class YamlKind { kNull, kScalar, kList, kMap };

struct YamlEntry;

struct YamlNode {
  YamlKind kind = YamlKind::kNull;
  Position at;
  std::string text;    // of a scalar
  bool plain = false;  // a scalar without quotes: its type depends on who reads it
  std::vector<YamlNode> items;
  std::vector<YamlEntry> entries;  // in document order, keys distinct
};

struct YamlEntry {
  std::string key;
  bool key_plain = false;
  Position key_at;
  YamlNode value;
};

struct YamlError {
  Position at;
  std::string message;
};

struct YamlLimits {
  size_t text_bytes = size_t{1} << 20;
  int depth = 40;
  size_t nodes = 50'000;  // after aliases are expanded
};

// One document in UTF-8; what is wrong goes to `errors` (the tree is then incomplete). YAML's null is kNull; explicit
// tags, duplicate keys, keys that are no scalars, and a second document are errors.
YamlNode ReadYaml(const std::string& text, int source, const YamlLimits& limits, std::vector<YamlError>* errors);

}  // namespace espalier::job
