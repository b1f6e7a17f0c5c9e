#include "services/trainer/task/make_task.h"

#include "services/base/check.h"
#include "services/trainer/task/edge_task.h"
#include "services/trainer/task/link_task.h"
#include "services/trainer/task/node_task.h"

namespace espalier::trainer {

std::unique_ptr<Task> MakeTask(const job::Training& training) {
  switch (training.task.type) {
    case job::TaskType::kNodeClassification:
    case job::TaskType::kNodeRegression: return std::make_unique<NodeTask>(training);
    case job::TaskType::kEdgeClassification:
    case job::TaskType::kEdgeRegression: return std::make_unique<EdgeTask>(training);
    case job::TaskType::kLinkPrediction: return std::make_unique<LinkTask>(training);
  }
  ESPALIER_CHECK(false) << "unknown task type";
  return nullptr;
}

}  // namespace espalier::trainer
