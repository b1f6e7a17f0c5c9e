// yaml-cpp's parser calls TreeBuilder for each event. open_ is the stack of lists and maps that are not closed yet; Add
// moves a finished node into the innermost one; in a map, a key and its value are added alternately. An alias copies
// the node of its anchor, and copies count toward the limits, so nested aliases cannot exhaust memory. Some errors,
// such as exceeded limits, end the parse with StopReading; after other errors it continues.
#include "services/job/text/yaml_tree.h"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <map>
#include <optional>
#include <sstream>

#include "services/base/utf8.h"
#include "services/job/text/scalars.h"

namespace espalier::job {
namespace {

// Exception that ends the parse at an error.
struct StopReading {};

// The size of a tree, which is the cost of a copy.
struct TreeSize {
  size_t nodes = 0;
  size_t text_bytes = 0;
};

void AddSize(const YamlNode& node, TreeSize* size) {
  ++size->nodes;
  size->text_bytes += node.text.size();
  for (const YamlNode& item : node.items) AddSize(item, size);
  for (const YamlEntry& entry : node.entries) {
    size->text_bytes += entry.key.size();
    AddSize(entry.value, size);
  }
}

class TreeBuilder : public YAML::EventHandler {
 public:
  TreeBuilder(int source, const YamlLimits& limits, std::vector<YamlError>* errors)
      : source_(source), limits_(limits), errors_(errors) {}

  YamlNode Root() && { return std::move(root_); }

  void OnDocumentStart(const YAML::Mark&) override {}
  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    Add({.kind = YamlKind::kNull, .at = At(mark), .plain = true}, anchor);
  }

  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    const auto found = anchors_.find(anchor);
    if (found == anchors_.end()) Stop(At(mark), "an alias inside its own anchor");
    TreeSize copied;
    AddSize(found->second, &copied);
    node_count_ += copied.nodes - 1;
    aliased_bytes_ += copied.text_bytes;
    if (aliased_bytes_ > limits_.text_bytes) Stop(At(mark), "aliases expand to more text than a document may have");
    YamlNode copy = found->second;
    if (static_cast<int>(open_.size()) + ComputeDepth(copy) > limits_.depth) StopForDepth(At(mark));
    Add(std::move(copy), 0);
  }

  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    const bool plain = tag == "?";
    if (!plain && tag != "!") RefuseTag(mark, tag);
    if (!IsUtf8(value)) Stop(At(mark), "bytes that are not UTF-8");
    const bool null = plain && ReadsAsNull(value);
    Add({.kind = null ? YamlKind::kNull : YamlKind::kScalar, .at = At(mark), .text = value, .plain = plain}, anchor);
  }

  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    Open(YamlKind::kList, mark, tag, anchor);
  }
  void OnSequenceEnd() override { Close(); }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    Open(YamlKind::kMap, mark, tag, anchor);
  }
  void OnMapEnd() override { Close(); }

 private:
  struct OpenNode {
    YamlNode node;
    YAML::anchor_t anchor = 0;
    bool has_key = false;  // kMap: entry.key is set, and the next node is its value
    YamlEntry entry;
  };

  Position At(const YAML::Mark& mark) const { return {source_, mark.line + 1, mark.column + 1}; }

  [[noreturn]] void Stop(Position at, std::string message) {
    errors_->push_back({at, std::move(message)});
    throw StopReading{};
  }
  [[noreturn]] void StopForDepth(Position at) {
    Stop(at, "nested deeper than " + std::to_string(limits_.depth) + " levels");
  }

  void RefuseTag(const YAML::Mark& mark, const std::string& tag) {
    errors_->push_back({At(mark), "the tag " + tag + " is not accepted: write the value without it"});
  }

  static int ComputeDepth(const YamlNode& node) {
    int depth = 0;
    for (const YamlNode& item : node.items) depth = std::max(depth, ComputeDepth(item));
    for (const YamlEntry& entry : node.entries) depth = std::max(depth, ComputeDepth(entry.value));
    return depth + 1;
  }

  void Open(YamlKind kind, const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor) {
    if (tag != "?" && tag != "!" && !tag.empty()) RefuseTag(mark, tag);
    if (static_cast<int>(open_.size()) >= limits_.depth) StopForDepth(At(mark));
    if (!open_.empty() && open_.back().node.kind == YamlKind::kMap && !open_.back().has_key) {
      Stop(At(mark), "expected a field's name, found a list or an object (is a bracket not closed?)");
    }
    open_.push_back({.node = {.kind = kind, .at = At(mark)}, .anchor = anchor});
  }

  void Close() {
    OpenNode closed = std::move(open_.back());
    open_.pop_back();
    Add(std::move(closed.node), closed.anchor);
  }

  void Add(YamlNode node, YAML::anchor_t anchor) {
    if (++node_count_ > limits_.nodes) {
      Stop(node.at, "more than " + std::to_string(limits_.nodes) + " values (aliases expanded)");
    }
    if (anchor != 0) anchors_[anchor] = node;
    if (open_.empty()) {
      root_ = std::move(node);
    } else if (open_.back().node.kind == YamlKind::kList) {
      open_.back().node.items.push_back(std::move(node));
    } else {
      AddToMap(open_.back(), std::move(node));
    }
  }

  void AddToMap(OpenNode& map, YamlNode node) {
    if (!map.has_key) {
      if (node.kind == YamlKind::kList || node.kind == YamlKind::kMap) {  // an alias; Open has refused others
        Stop(node.at, "expected a field's name, found an alias of a list or an object");
      }
      map.entry = {.key = node.text, .key_plain = node.plain, .key_at = node.at};
      map.has_key = true;
      return;
    }
    map.has_key = false;
    map.entry.value = std::move(node);
    for (const YamlEntry& earlier : map.node.entries) {
      if (earlier.key != map.entry.key) continue;
      errors_->push_back({map.entry.key_at, "the field '" + map.entry.key + "' is duplicate (first on line " +
                                                std::to_string(earlier.key_at.line) + ")"});
      return;
    }
    map.node.entries.push_back(std::move(map.entry));
  }

  const int source_;
  const YamlLimits limits_;
  std::vector<YamlError>* const errors_;
  YamlNode root_;
  std::vector<OpenNode> open_;
  std::map<YAML::anchor_t, YamlNode> anchors_;
  size_t node_count_ = 0;
  size_t aliased_bytes_ = 0;
};

// Returns the position of another document in the stream, or nullopt if there is none. For a document that stops the
// parse with an error, returns the position of the error.
std::optional<Position> NextDocument(YAML::Parser& parser, int source, const YamlLimits& limits) {
  std::vector<YamlError> faults;
  TreeBuilder builder(source, limits, &faults);
  try {
    if (!parser.HandleNextDocument(builder)) return std::nullopt;
  } catch (const StopReading&) {
    return faults.back().at;
  }
  return std::move(builder).Root().at;
}

}  // namespace

YamlNode ReadYaml(const std::string& text, int source, const YamlLimits& limits, std::vector<YamlError>* errors) {
  if (text.size() > limits.text_bytes) {
    errors->push_back({{source, 1, 1},
                       "the document has " + std::to_string(text.size()) + " bytes; at most " +
                           std::to_string(limits.text_bytes) + " are read"});
    return {};
  }
  TreeBuilder builder(source, limits, errors);
  try {
    std::istringstream stream(text);
    YAML::Parser parser(stream);
    parser.HandleNextDocument(builder);
    YamlNode root = std::move(builder).Root();
    if (const std::optional<Position> second = NextDocument(parser, source, limits)) {
      errors->push_back({*second, "a second document: expected one job per file"});
    }
    return root;
  } catch (const StopReading&) {
  } catch (const YAML::Exception& error) {
    errors->push_back(
        {{source, std::max(0, error.mark.line) + 1, std::max(0, error.mark.column) + 1}, "not YAML: " + error.msg});
  } catch (const std::exception& error) {
    errors->push_back({{source, 1, 1}, std::string("not YAML: ") + error.what()});
  }
  return {};
}

}  // namespace espalier::job
