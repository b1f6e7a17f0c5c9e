// Writes model/best.pt, the best model as TorchScript, or records why it is not written (docs/outputs.md).
#pragma once

#include "services/job/dist_training.h"
#include "services/trainer/outputs.h"
#include "services/trainer/training_parts.h"

namespace espalier::trainer {

// Returns true if spec.output.save requests model/best.pt: if it contains TorchScript, or if it contains Model and the
// model is a user's TorchScript module, because no other file contains the module's program.
bool SavesTorchScript(const job::DistTraining& job);

// Writes the model with its current parameters as model/best.pt, or records in `outputs` why it cannot be converted to
// TorchScript. Returns an error only if the store fails.
Status WriteTorchScript(const job::DistTraining& job, const graph::GraphSchema& schema, const Parts& parts,
                        Outputs& outputs);

// If model/best.pt is not requested but earlier versions of Espalier would have written it, records in `outputs` which
// file replaces it.
void NoteScriptNotSaved(const job::DistTraining& job, const graph::GraphSchema& schema, const Parts& parts,
                        Outputs& outputs);

}  // namespace espalier::trainer
