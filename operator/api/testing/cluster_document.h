// For tests: a DistTraining as an API server stores it.
#pragma once

#include "operator/kube/json.h"

namespace espalier::ctl::api {

inline kube::Json ClusterDocument() {
  return {{"apiVersion", "espalier.io/v1alpha1"},
          {"kind", "DistTraining"},
          {"metadata", {{"name", "cora"}, {"namespace", "ml"}, {"uid", "6f1c9c1e-0000-4000-8000-000000000001"}}},
          {"spec",
           {{"graph", {{"source", {{"uri", "s3://graphs/cora"}, {"format", "OGB"}}}}},
            {"training",
             {{"task", {{"type", "NodeClassification"}, {"split", "public"}}},
              {"inputs", {{{"features", {"node-feat"}}}}},
              {"model", {{"type", "GraphSAGE"}}},
              {"sampling", {{"layers", {{{"fanout", 25}}, {{"fanout", 10}}}}}}}},
            {"output", {{"uri", "s3://results/cora"}}}}}};
}

}  // namespace espalier::ctl::api
