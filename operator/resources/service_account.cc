#include "operator/resources/child.h"
#include "operator/resources/names.h"

namespace espalier::ctl::resources {

// No process of a job asks the API server anything.
kube::Json ServiceAccount(const Context& context) {
  kube::Json account =
      MakeChild(context, kube::kServiceAccounts, ServiceAccountName(context.training.meta.key.name), kSharedComponent);
  account["automountServiceAccountToken"] = false;
  return account;
}

}  // namespace espalier::ctl::resources
