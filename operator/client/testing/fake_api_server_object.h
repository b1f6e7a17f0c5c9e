// One version of one object as the fake server keeps it: text, for that is what is asked for, and what it is found by.
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

struct StoredObject {  // never changes
  kube::ObjectKey key;
  std::string uid;
  uint64_t version = 0;
  std::map<std::string, std::string> labels;
  std::vector<std::string> selectable;  // values of KindTraits::selectable
  std::vector<std::string> owner_uids;
  Owners owners;
  std::string members;  // JSON from its first member after apiVersion and kind
};
using StoredPtr = std::shared_ptr<const StoredObject>;

// `object` is complete but for its resourceVersion, which becomes `version`.
StoredPtr MakeStored(const KindTraits& kind, uint64_t version, kube::Json object, Owners owners);
std::string TextOf(const KindTraits& kind, const StoredObject& stored);
// As items of lists are: without apiVersion and kind, but for custom resources.
std::string ItemTextOf(const KindTraits& kind, const StoredObject& stored);
kube::Json ParsedOf(const KindTraits& kind, const StoredObject& stored);

// What labelSelector and fieldSelector ask for.
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
