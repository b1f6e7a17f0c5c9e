// A write to one object: what comes of what is stored and what is asked, or why nothing does. No store, no clock.
// resourceVersion and generation are the store's to set.
#pragma once

#include <optional>
#include <string>

#include "operator/client/testing/fake_api_server_fields.h"
#include "operator/client/testing/fake_api_server_request.h"

namespace espalier::ctl::client::fake {

struct NewObject {  // what one gets that did not exist before
  std::string uid;
  std::string created_at;
};

std::optional<Refusal> Create(const ApiRequest& request, const NewObject& fresh, FieldPaths& paths, OwnedObject* after);
// PUT and merge patch, of the object or its status.
std::optional<Refusal> Replace(const ApiRequest& request, const OwnedObject& before, FieldPaths& paths,
                               OwnedObject* after);
// `before` is null where nothing is stored: then the object is created.
std::optional<Refusal> Apply(const ApiRequest& request, const OwnedObject* before, const NewObject& fresh,
                             FieldPaths& paths, OwnedObject* after);
// The preconditions of a DELETE.
std::optional<Refusal> CheckDelete(const ApiRequest& request, const kube::Json& stored);

}  // namespace espalier::ctl::client::fake
