// Checker walks the field table and the document together. CheckObject visits the fields of the table in order, so the
// result does not depend on the order in the document. A field in the document is checked by its type (CheckField). A
// missing field is a violation if it is required; otherwise it gets its default or an object of defaults, or stays
// absent (AddMissing). An invalid value becomes a "discarded" value of nlohmann::json and the walk continues, so that
// one run reports all violations.
#include "services/job/checks/check_fields.h"

#include <algorithm>
#include <set>

#include "services/job/checks/check_scalars.h"
#include "services/job/fields/field_tree.h"
#include "services/job/rules/document_rules.h"
#include "services/job/text/scalars.h"
#include "services/job/text/suggestion.h"

namespace espalier::job {
namespace {

using Json = nlohmann::ordered_json;

std::string JoinPath(const std::string& path, const std::string& name) {
  return path.empty() ? name : path + "." + name;
}

// ^[0-9]+(\.[0-9]+)?(n|u|m|k|M|G|T|P|E|Ki|Mi|Gi|Ti|Pi|Ei)?$
bool IsQuantity(const std::string& text) {
  const size_t unit_at = std::min(text.find_first_not_of("0123456789."), text.size());
  const std::string number = text.substr(0, unit_at);
  const std::string unit = text.substr(unit_at);
  if (number.empty() || number.front() == '.' || number.back() == '.') return false;
  if (std::count(number.begin(), number.end(), '.') > 1) return false;
  const std::string_view units = unit.size() == 2 && unit[1] == 'i' ? "KMGTPE" : "numkMGTPE";
  return unit.empty() ||
         ((unit.size() == 1 || unit[1] == 'i') && unit.size() <= 2 && units.find(unit[0]) != std::string_view::npos);
}

// A plain scalar without a unit is a YAML number, and a cluster accepts only integers there (int-or-string): half a
// core is "0.5" in quotes, or 500m.
bool IsQuantity(const YamlNode& node) {
  const bool is_number = node.plain && node.text.find_first_not_of("0123456789.") == std::string::npos;
  return is_number ? IsJsonInteger(node.text) : IsQuantity(node.text);
}

class Checker {
 public:
  Checker(ReadBy read_by, SpecTraining spec_training, CheckedDocument* document, Violations* violations)
      : read_by_(read_by), spec_training_(spec_training), document_(document), violations_(violations) {}

  Json CheckObject(const TableNode& table, const YamlNode* node, const std::string& path) {
    if (node != nullptr && node->kind == YamlKind::kMap) ReportUnknown(table, *node, path);
    Json object = Json::object();
    for (const TableNode& field : table.fields) {
      const std::string field_path = JoinPath(path, field.name);
      const YamlNode* value = FindValue(node, field.name);
      if (value != nullptr) {
        Json checked = CheckField(field, *value, field_path);
        if (!checked.is_discarded()) object[field.name] = std::move(checked);
      } else {
        AddMissing(field, node, field_path, &object);
      }
    }
    return object;
  }

 private:
  // Returns the value of the field, or nullptr. A null value counts as a missing field, as in Kubernetes.
  static const YamlNode* FindValue(const YamlNode* node, const std::string& name) {
    if (node == nullptr) return nullptr;
    for (const YamlEntry& entry : node->entries) {
      if (entry.key == name && entry.value.kind != YamlKind::kNull) return &entry.value;
    }
    return nullptr;
  }

  void ReportUnknown(const TableNode& table, const YamlNode& node, const std::string& path) {
    for (const YamlEntry& entry : node.entries) {
      if (table.Find(entry.key) != nullptr) continue;
      std::vector<std::string> names;
      for (const TableNode& field : table.fields) names.push_back(field.name);
      std::string suggestion = DidYouMean(entry.key, names);
      if (suggestion.empty()) suggestion = SuggestOtherPaths(entry.key);
      violations_->Add(entry.key_at, JoinPath(path, Shown(entry.key)), "unknown field" + suggestion);
    }
  }

  // Returns " (did you mean 'spec.training.evaluation'?)" if one or two fields of other objects have this name, or "".
  static std::string SuggestOtherPaths(const std::string& name) {
    std::vector<std::string> places;
    for (const FieldSpec& field : FieldTable()) {
      const size_t dot = field.path.rfind('.');
      if (dot != std::string::npos && field.path.substr(dot + 1) == name) places.push_back("'" + field.path + "'");
    }
    if (places.empty() || places.size() > 2) return "";
    return " (did you mean " + places.front() + (places.size() == 2 ? " or " + places.back() : "") + "?)";
  }

  void AddMissing(const TableNode& field, const YamlNode* parent, const std::string& field_path, Json* object) {
    const FieldSpec& spec = *field.spec;
    const bool is_training = field_path == "spec.training";
    if (spec.required || (is_training && NeedsTraining(parent))) {
      violations_->Add(
          parent == nullptr ? Position{0, 1, 1} : parent->at, field_path,
          "is missing: " + (is_training ? DescribeExpectedTraining(spec) : "expected " + DescribeExpected(spec)));
      return;
    }
    if (HasDefault(spec)) {
      Json value = Json::parse(spec.default_json);
      // CheckScalar also returns a double for kNumber, so 0 is printed as 0.0 whether or not it is the default.
      if (spec.type == FieldType::kNumber) value = value.get<double>();
      (*object)[field.name] = std::move(value);
    } else if (HasObjectDefault(field, [this](const FieldSpec& one) { return HasDefault(one); })) {
      (*object)[field.name] = CheckObject(field, nullptr, field_path);
    }
  }

  // Returns whether a missing spec.training is an error in the object `spec`.
  bool NeedsTraining(const YamlNode* spec) const {
    if (spec_training_ != SpecTraining::kUnlessProgram) return spec_training_ == SpecTraining::kRequired;
    return FindValue(FindValue(spec, "trainers"), "program") == nullptr;
  }

  // Returns what is expected in place of a missing spec.training.
  std::string DescribeExpectedTraining(const FieldSpec& spec) const {
    if (spec_training_ != SpecTraining::kUnlessProgram) return "expected " + DescribeExpected(spec);
    return std::string(kTrainingOrProgram) +
           (read_by_ == ReadBy::kOperator ? "" : ", or on the command line as -- PROGRAM");
  }

  // Cluster-only fields get their defaults only on a cluster. Elsewhere no component reads them, and parsing the
  // effective document again would report them as ignored.
  bool HasDefault(const FieldSpec& spec) const {
    return !spec.default_json.empty() &&
           (read_by_ == ReadBy::kOperator || spec.availability != Availability::kClusterOnly);
  }

  // Returns the checked value of a field in the document; a discarded value after a violation.
  Json CheckField(const TableNode& field, const YamlNode& node, const std::string& path) {
    const FieldSpec& spec = *field.spec;
    document_->positions[path] = node.at;
    if (spec.availability == Availability::kClusterOnly && read_by_ != ReadBy::kOperator && !inside_cluster_only_) {
      document_->ignored.push_back(path);
      inside_cluster_only_ = true;
      Json value = spec.is_list ? CheckList(field, node, path) : CheckValue(field, node, path);
      inside_cluster_only_ = false;
      return value;
    }
    return spec.is_list ? CheckList(field, node, path) : CheckValue(field, node, path);
  }

  Json CheckList(const TableNode& field, const YamlNode& node, const std::string& path) {
    const FieldSpec& spec = *field.spec;
    if (node.kind != YamlKind::kList) {
      violations_->Add(node.at, path, "expected " + DescribeExpected(spec) + ", found " + DescribeNode(node));
      return Discarded();
    }
    if (node.items.size() < spec.minimum_items || node.items.size() > spec.maximum_items) {
      violations_->Add(
          node.at, path,
          "expected " + DescribeExpected(spec) + ", found " + std::to_string(node.items.size()) + " items");
      return Discarded();
    }
    Json list = Json::array();
    std::set<std::string> keys;
    for (size_t i = 0; i < node.items.size(); ++i) {
      const std::string item_path = path + "[" + std::to_string(i) + "]";
      document_->positions[item_path] = node.items[i].at;
      Json item = CheckValue(field, node.items[i], item_path);
      if (item.is_discarded()) continue;
      if (!item.is_object() && !spec.may_repeat && std::find(list.begin(), list.end(), item) != list.end()) {
        violations_->Add(node.items[i].at, item_path, Shown(node.items[i].text) + " occurs twice in the list");
      }
      if (const std::string key = ToKey(spec, item); !key.empty() && !keys.insert(key).second) {
        violations_->Add(node.items[i].at, item_path, "a second entry for " + Shown(key));
      }
      list.push_back(std::move(item));
    }
    return list;
  }

  // Returns the key of a list item, or "" if it has none, which CheckObject has reported: the key is a required field.
  static std::string ToKey(const FieldSpec& list, const Json& item) {
    const auto key = list.list_key.empty() ? item.end() : item.find(list.list_key);
    return key == item.end() ? "" : key->get<std::string>();
  }

  Json CheckValue(const TableNode& field, const YamlNode& node, const std::string& path) {
    switch (field.spec->type) {
      case FieldType::kObject:
      case FieldType::kFreeObject:
        if (node.kind != YamlKind::kMap) {
          violations_->Add(node.at, path, "expected an object, found " + DescribeNode(node));
          return Discarded();
        }
        return field.spec->type == FieldType::kObject ? CheckObject(field, &node, path) : ToJson(node);
      case FieldType::kStringMap:
      case FieldType::kQuantities: return CheckMap(*field.spec, node, path);
      default: break;
    }
    std::optional<Json> value = CheckScalar(*field.spec, node, path, violations_);
    return value.has_value() ? *std::move(value) : Discarded();
  }

  Json CheckMap(const FieldSpec& spec, const YamlNode& node, const std::string& path) {
    if (node.kind != YamlKind::kMap || node.entries.size() > spec.maximum_items) {
      const std::string found = node.kind == YamlKind::kMap ? std::to_string(node.entries.size()) : DescribeNode(node);
      violations_->Add(node.at, path,
                       "expected " + DescribeExpected(spec) + " with at most " + std::to_string(spec.maximum_items) +
                           " fields, found " + found);
      return Discarded();
    }
    Json map = Json::object();
    for (const YamlEntry& entry : node.entries) {
      const std::string entry_path = JoinPath(path, Shown(entry.key));
      const YamlNode& value = entry.value;
      const bool quantity = spec.type == FieldType::kQuantities;
      if (value.kind != YamlKind::kScalar || (quantity ? !IsQuantity(value) : value.text.size() > spec.max_length)) {
        const std::string expected =
            quantity ? "a quantity (250m, 2, 512Mi)" : "text of at most " + std::to_string(spec.max_length) + " bytes";
        violations_->Add(value.at, entry_path, "expected " + expected + ", found " + DescribeNode(value));
        continue;
      }
      // A quantity may be a plain number; a value of a kStringMap must be one that all YAML readers parse as text.
      if (!quantity && !CheckText(value, entry_path, violations_)) continue;
      map[entry.key] = value.text;
    }
    return map;
  }

  // Converts the value of a kFreeObject field, whose contents are not checked. A plain scalar becomes a boolean if it
  // is one, a number if JSON has such a number, and otherwise text.
  static Json ToJson(const YamlNode& node) {
    switch (node.kind) {
      case YamlKind::kNull: return nullptr;
      case YamlKind::kScalar: {
        if (!node.plain) return node.text;
        if (const auto boolean = ReadBool(node.text); boolean.has_value()) return *boolean;
        if (!IsJsonNumber(node.text)) return node.text;
        Json number = Json::parse(node.text, nullptr, /*allow_exceptions=*/false);
        return number.is_discarded() ? Json(node.text) : number;
      }
      case YamlKind::kList: {
        Json list = Json::array();
        for (const YamlNode& item : node.items) list.push_back(ToJson(item));
        return list;
      }
      case YamlKind::kMap: {
        Json map = Json::object();
        for (const YamlEntry& entry : node.entries) map[entry.key] = ToJson(entry.value);
        return map;
      }
    }
    return nullptr;
  }

  static Json Discarded() { return Json(Json::value_t::discarded); }

  const ReadBy read_by_;
  const SpecTraining spec_training_;
  CheckedDocument* const document_;
  Violations* const violations_;
  bool inside_cluster_only_ = false;
};

}  // namespace

CheckedDocument CheckFields(const YamlNode& root, ReadBy read_by, SpecTraining spec_training, Violations* violations) {
  CheckedDocument document;
  if (root.kind != YamlKind::kMap) {
    violations->Add(root.at, "", "expected a DistTraining document, found " + DescribeNode(root));
    return document;
  }
  document.values = Checker(read_by, spec_training, &document, violations).CheckObject(TableTree(), &root, "");
  return document;
}

}  // namespace espalier::job
