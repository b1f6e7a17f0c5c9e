// Writes to one object, as functions of the stored object and the request. They return an error response, or nullopt
// and the new object in `after`. The store sets resourceVersion and generation.
#pragma once

#include <optional>
#include <string>

#include "operator/client/testing/fake_api_server_fields.h"
#include "operator/client/testing/fake_api_server_request.h"

namespace espalier::ctl::client::fake {

struct NewObject {  // fields of a new object that the server sets
  std::string uid;
  std::string created_at;
};

std::optional<Refusal> Create(const ApiRequest& request, const NewObject& fresh, FieldPaths& paths, OwnedObject* after);
// PUT or merge patch of the object or its status.
std::optional<Refusal> Replace(const ApiRequest& request, const OwnedObject& before, FieldPaths& paths,
                               OwnedObject* after);
// Server-side apply. Creates the object if `before` is null.
std::optional<Refusal> Apply(const ApiRequest& request, const OwnedObject* before, const NewObject& fresh,
                             FieldPaths& paths, OwnedObject* after);
// Checks the preconditions of a DELETE.
std::optional<Refusal> CheckDelete(const ApiRequest& request, const kube::Json& stored);

}  // namespace espalier::ctl::client::fake
