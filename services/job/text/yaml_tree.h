// YAML as a tree with the positions of its nodes. The input is untrusted: its size, depth and number of nodes are
// limited. Therefore the tree is built from the events of yaml-cpp's parser, which show duplicate keys and aliases and
// can be stopped at a limit; a YAML::Node exists only after the whole input was parsed.
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
  std::string text;    // kScalar
  bool plain = false;  // kScalar: without quotes, so that its type depends on the YAML version of the reader
  std::vector<YamlNode> items;
  std::vector<YamlEntry> entries;  // in document order, keys distinct
};

// A field of an object; the key is always text.
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

// Returns the tree of `text`, one document in UTF-8, with positions whose source is `source`. If it appends errors to
// `errors`, the tree may be incomplete. Errors include explicit tags, duplicate keys, keys that are not scalars, and a
// second document.
YamlNode ReadYaml(const std::string& text, int source, const YamlLimits& limits, std::vector<YamlError>* errors);

}  // namespace espalier::job
