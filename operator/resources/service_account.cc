#include "operator/resources/child.h"
#include "operator/resources/names.h"

namespace espalier::ctl::resources {

// Pods of this account get no token, because the processes of a job do not use the API server.
kube::Json ServiceAccount(const Context& context) {
  kube::Json account =
      MakeChild(context, kube::kServiceAccounts, ServiceAccountName(context.training.meta.key.name), kSharedComponent);
  account["automountServiceAccountToken"] = false;
  return account;
}

}  // namespace espalier::ctl::resources
