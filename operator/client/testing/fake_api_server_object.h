// One version of an object in the fake server. It is stored as JSON text, which responses need, with the fields by
// which it is found.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "operator/client/testing/fake_api_server_fields.h"
#include "operator/client/testing/fake_api_server_kinds.h"
#include "operator/client/testing/fake_api_server_request.h"
#include "operator/kube/resource.h"

namespace espalier::ctl::client::fake {

struct StoredObject {  // immutable
  kube::ObjectKey key;
  std::string uid;
  uint64_t version = 0;
  std::map<std::string, std::string> labels;
  std::vector<std::string> selectable;  // values of KindTraits::selectable
  std::vector<std::string> owner_uids;
  Owners owners;
  std::string members;  // JSON text after apiVersion and kind, to the closing brace
};
using StoredPtr = std::shared_ptr<const StoredObject>;

// Returns `object` as stored, with `version` as its resourceVersion.
StoredPtr MakeStored(const KindTraits& kind, uint64_t version, kube::Json object, Owners owners);
std::string TextOf(const KindTraits& kind, const StoredObject& stored);
// Returns the text of an item of a list: without apiVersion and kind, except for custom resources.
std::string ItemTextOf(const KindTraits& kind, const StoredObject& stored);
kube::Json ParsedOf(const KindTraits& kind, const StoredObject& stored);

// The label selector and the field selector of a request.
class Selectors {
 public:
  static std::optional<Refusal> Parse(const ApiRequest& request, Selectors* selectors);
  bool Match(const StoredObject& stored) const;

 private:
  enum class Operator { kIn, kNotIn, kExists, kDoesNotExist };
  struct Requirement {
    std::string key;
    Operator op = Operator::kIn;
    std::vector<std::string> values;
    bool Admits(const std::string* value) const;
  };
  static bool ParseLabels(std::string_view text, std::vector<Requirement>* requirements);

  const KindTraits* kind_ = nullptr;
  std::vector<Requirement> labels_, fields_;
};

}  // namespace espalier::ctl::client::fake
