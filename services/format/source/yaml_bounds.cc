#include "services/format/source/yaml_bounds.h"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <map>
#include <sstream>
#include <vector>

#include "services/base/utf8.h"

namespace espalier::format {
namespace {

// The largest number of values in a document. A graph.yaml or metadata.json has far fewer: some names and numbers for
// each type and column.
constexpr size_t kMaxValues = size_t{1} << 22;

// Counts the values of a document while it is parsed.
class DocumentBounds final : public YAML::EventHandler {
 public:
  explicit DocumentBounds(YamlReferences references) : references_(references) {}

  void OnDocumentStart(const YAML::Mark& /*mark*/) override {}
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override { AddOne(mark, anchor); }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    if (references_ == YamlReferences::kRefused) RefuseReference(mark);
    const auto anchored = values_of_.find(anchor);
    if (anchored == values_of_.end()) throw YAML::ParserException(mark, "an alias inside its own anchor");
    Add(mark, anchored->second);
  }
  void OnScalar(const YAML::Mark& mark, const std::string& /*tag*/, YAML::anchor_t anchor,
                const std::string& value) override {
    if (!IsUtf8(value)) throw YAML::ParserException(mark, "bytes that are not UTF-8");
    AddOne(mark, anchor);
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string& /*tag*/, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value /*style*/) override {
    Open(mark, anchor);
  }
  void OnSequenceEnd() override { Close(); }
  void OnMapStart(const YAML::Mark& mark, const std::string& /*tag*/, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value /*style*/) override {
    Open(mark, anchor);
  }
  void OnMapEnd() override { Close(); }

 private:
  struct OpenValue {
    YAML::anchor_t anchor;
    size_t values_before;
  };

  [[noreturn]] static void RefuseReference(const YAML::Mark& mark) {
    throw YAML::ParserException(mark, "anchors and aliases are not JSON: expected values");
  }

  void Add(const YAML::Mark& mark, size_t num_values) {
    num_values_ += num_values;
    if (num_values_ <= kMaxValues) return;
    throw YAML::ParserException(mark, references_ == YamlReferences::kRefused
                                          ? "the document has more than 2^22 values"
                                          : "the document has more than 2^22 values after the expansion of aliases");
  }

  void AddOne(const YAML::Mark& mark, YAML::anchor_t anchor) {
    Open(mark, anchor);
    Close();
  }

  void Open(const YAML::Mark& mark, YAML::anchor_t anchor) {
    if (anchor != YAML::NullAnchor && references_ == YamlReferences::kRefused) RefuseReference(mark);
    open_.push_back({anchor, num_values_});
    Add(mark, 1);
  }

  void Close() {
    const OpenValue closed = open_.back();
    open_.pop_back();
    if (closed.anchor != YAML::NullAnchor) values_of_[closed.anchor] = num_values_ - closed.values_before;
  }

  const YamlReferences references_;
  size_t num_values_ = 0;
  std::vector<OpenValue> open_;
  std::map<YAML::anchor_t, size_t> values_of_;  // for each anchor whose value has ended, the number of values in it
};

}  // namespace

void CheckYamlBounds(const std::string& text, YamlReferences references) {
  std::istringstream stream(text);
  DocumentBounds bounds(references);
  YAML::Parser(stream).HandleNextDocument(bounds);
}

int LineNumber(const YAML::Mark& mark) { return std::max(0, mark.line) + 1; }

}  // namespace espalier::format
