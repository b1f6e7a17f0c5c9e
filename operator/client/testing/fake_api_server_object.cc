// Conversion between objects and their stored text, and the parser of selectors. Field selectors have the syntax of
// equality-based label selectors, so one parser reads both.
#include "operator/client/testing/fake_api_server_object.h"

#include <algorithm>

#include "services/base/check.h"

namespace espalier::ctl::client::fake {
namespace {

using kube::Json;

// Returns the string at a dotted path of one or two names, such as "spec.nodeName".
std::string ValueAt(const Json& object, std::string_view dotted) {
  const size_t dot = dotted.find('.');
  if (dot == std::string_view::npos) return kube::StringAt(object, {dotted});
  return kube::StringAt(object, {dotted.substr(0, dot), dotted.substr(dot + 1)});
}

std::string_view Trimmed(std::string_view text) {
  while (text.starts_with(' ')) text.remove_prefix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  return text;
}

// Splits the text at commas outside parentheses.
std::vector<std::string_view> Requirements(std::string_view text) {
  std::vector<std::string_view> parts;
  int depth = 0;
  size_t begin = 0;
  for (size_t i = 0; i <= text.size(); ++i) {
    if (i < text.size() && text[i] == '(') ++depth;
    if (i < text.size() && text[i] == ')') --depth;
    if (i == text.size() || (text[i] == ',' && depth == 0)) {
      if (const std::string_view part = Trimmed(text.substr(begin, i - begin)); !part.empty()) parts.push_back(part);
      begin = i + 1;
    }
  }
  return parts;
}

}  // namespace

StoredPtr MakeStored(const KindTraits& kind, uint64_t version, Json object, Owners owners) {
  auto stored = std::make_shared<StoredObject>();
  object["metadata"]["resourceVersion"] = std::to_string(version);
  stored->key = {kube::StringAt(object, {"metadata", "namespace"}), kube::StringAt(object, {"metadata", "name"})};
  stored->uid = kube::StringAt(object, {"metadata", "uid"});
  stored->version = version;
  if (const Json* const labels = kube::Find(object, {"metadata", "labels"}); labels != nullptr && labels->is_object()) {
    for (const auto& [name, value] : labels->items()) {
      if (value.is_string()) stored->labels[name] = value.get<std::string>();
    }
  }
  for (const std::string_view field : kind.selectable) stored->selectable.push_back(ValueAt(object, field));
  for (const Json& owner : kube::ListAt(object, {"metadata", "ownerReferences"})) {
    stored->owner_uids.push_back(kube::StringAt(owner, {"uid"}));
  }
  stored->owners = std::move(owners);
  object.erase("apiVersion");
  object.erase("kind");
  stored->members = kube::Print(object).substr(1);
  return stored;
}

std::string TextOf(const KindTraits& kind, const StoredObject& stored) {
  return "{\"apiVersion\":\"" + kind.resource->api_version() + "\",\"kind\":\"" + std::string(kind.resource->kind) +
         "\"," + stored.members;
}

std::string ItemTextOf(const KindTraits& kind, const StoredObject& stored) {
  return kind.is_custom ? TextOf(kind, stored) : "{" + stored.members;
}

Json ParsedOf(const KindTraits& kind, const StoredObject& stored) {
  Result<Json> object = kube::ParseJson(TextOf(kind, stored));
  ESPALIER_CHECK(object.ok()) << object.status().ToString();
  return *std::move(object);
}

bool Selectors::Requirement::Admits(const std::string* value) const {
  const bool is_among = value != nullptr && std::find(values.begin(), values.end(), *value) != values.end();
  switch (op) {
    case Operator::kIn: return is_among;
    case Operator::kNotIn: return !is_among;
    case Operator::kExists: return value != nullptr;
    case Operator::kDoesNotExist: return value == nullptr;
  }
  return false;
}

bool Selectors::ParseLabels(std::string_view text, std::vector<Requirement>* requirements) {
  for (const std::string_view part : Requirements(text)) {
    Requirement requirement;
    const size_t equals = part.find('='), open = part.find('(');
    if (open != std::string_view::npos) {  // key in (a,b), key notin (a,b)
      const std::string_view head = Trimmed(part.substr(0, open));
      const size_t space = head.find(' ');
      const std::string_view word = space == std::string_view::npos ? "" : Trimmed(head.substr(space));
      if ((word != "in" && word != "notin") || !part.ends_with(')')) return false;
      requirement.key = head.substr(0, space);
      requirement.op = word == "in" ? Operator::kIn : Operator::kNotIn;
      for (const std::string_view value : Requirements(part.substr(open + 1, part.size() - open - 2))) {
        requirement.values.emplace_back(value);
      }
    } else if (equals != std::string_view::npos) {  // key=a, key==a, key!=a
      const bool is_not = equals > 0 && part[equals - 1] == '!';
      requirement.key = Trimmed(part.substr(0, equals - (is_not ? 1 : 0)));
      requirement.op = is_not ? Operator::kNotIn : Operator::kIn;
      std::string_view value = part.substr(equals + 1);
      if (value.starts_with('=')) value.remove_prefix(1);
      requirement.values.emplace_back(Trimmed(value));
    } else {  // key, !key
      requirement.op = part.starts_with('!') ? Operator::kDoesNotExist : Operator::kExists;
      requirement.key = part.substr(part.starts_with('!') ? 1 : 0);
    }
    if (requirement.key.empty()) return false;
    requirements->push_back(std::move(requirement));
  }
  return true;
}

std::optional<Refusal> Selectors::Parse(const ApiRequest& request, Selectors* selectors) {
  selectors->kind_ = request.kind;
  if (!ParseLabels(request.Query("labelSelector"), &selectors->labels_)) {
    return BadRequest("unable to parse requirement: " + request.Query("labelSelector"));
  }
  if (!ParseLabels(request.Query("fieldSelector"), &selectors->fields_)) {
    return BadRequest("invalid selector: " + request.Query("fieldSelector"));
  }
  const auto& selectable = request.kind->selectable;
  for (const Requirement& requirement : selectors->fields_) {
    const bool is_known = requirement.key == "metadata.name" || requirement.key == "metadata.namespace" ||
                          std::find(selectable.begin(), selectable.end(), requirement.key) != selectable.end();
    if (!is_known) return BadRequest("field label not supported: " + requirement.key);
  }
  return std::nullopt;
}

bool Selectors::Match(const StoredObject& stored) const {
  const auto admits_label = [&](const Requirement& requirement) {
    const auto found = stored.labels.find(requirement.key);
    return requirement.Admits(found == stored.labels.end() ? nullptr : &found->second);
  };
  const auto admits_field = [&](const Requirement& requirement) {
    if (requirement.key == "metadata.name") return requirement.Admits(&stored.key.name);
    if (requirement.key == "metadata.namespace") return requirement.Admits(&stored.key.name_space);
    const auto& selectable = kind_->selectable;
    const auto found = std::find(selectable.begin(), selectable.end(), requirement.key);
    return requirement.Admits(&stored.selectable[static_cast<size_t>(found - selectable.begin())]);
  };
  return std::all_of(labels_.begin(), labels_.end(), admits_label) &&
         std::all_of(fields_.begin(), fields_.end(), admits_field);
}

}  // namespace espalier::ctl::client::fake
