// model/best.pt, the best model as TorchScript: when it is written, and why it is not (docs/outputs.md).
#pragma once

#include "services/job/dist_training.h"
#include "services/trainer/outputs.h"
#include "services/trainer/training_parts.h"

namespace espalier::trainer {

// Returns whether spec.output.save asks for model/best.pt: by TorchScript, and by Model where the model is a user's
// TorchScript module, which no other file can restore.
bool SavesTorchScript(const job::DistTraining& job);

// Writes the model's current parameters as model/best.pt, or records in `outputs` why the model cannot be TorchScript.
// Errors of the store.
Status WriteTorchScript(const job::DistTraining& job, const graph::GraphSchema& schema, const Parts& parts,
                        Outputs& outputs);

// Records in `outputs` what replaces model/best.pt where earlier versions wrote it without being asked.
void NoteScriptNotSaved(const job::DistTraining& job, const graph::GraphSchema& schema, const Parts& parts,
                        Outputs& outputs);

}  // namespace espalier::trainer
