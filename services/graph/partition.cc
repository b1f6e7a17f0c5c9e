#include "services/graph/partition.h"

namespace espalier::graph {

const char* ToString(SplitPartName part) {
  switch (part) {
    case SplitPartName::kTrain: return "train";
    case SplitPartName::kValidation: return "validation";
    case SplitPartName::kTest: return "test";
  }
  ESPALIER_CHECK(false) << "split part " << static_cast<int>(part);
  return "";
}

}  // namespace espalier::graph
