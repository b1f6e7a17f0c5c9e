// Saves distributed tensors to object storage and loads them, for checkpoints of programs. They can be loaded with any
// partitioning of the same graph and any number of servers (docs/saved-tensors.md).
//
//   RETURN_IF_ERROR(SaveTensors(*graph, {{RowSpace::Nodes(paper), "visits"}}, folder + "/000012",
//                               {.notes = {{"epoch", "12"}}}));
//
//   ASSIGN_OR_RETURN(const std::vector<std::string> saved, ListSavedTensors(folder));  // the next incarnation
//   ASSIGN_OR_RETURN(LoadedTensors loaded, LoadTensors(*graph, folder + "/" + saved.back()));
// One process calls these functions, and no other process writes the tensors during the call: use a barrier before and
// after.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "services/client/dist_tensor.h"
#include "services/sampler/routing/embedding_store.h"
#include "services/storage/store_settings.h"

namespace espalier::client {

struct TensorName {
  RowSpace rows;  // for own rows, RowSpace::Own() is enough
  std::string name;
};

struct SaveOptions {
  std::map<std::string, std::string> notes = {};  // of the program, in UTF-8, such as the step
  // Embeddings to save with the tensors, with distinct names per row space, each at the current version of its
  // DistEmbedding on this rank (DistEmbedding::Now), which must take no step before this call returns. Other ranks may
  // be one step ahead; they wait. saved_embeddings.h restores them.
  std::vector<sampler::EmbeddingAt> embeddings = {};
  storage::StoreSettings stores = {};        // of an s3:// URI
  size_t bytes_per_file = size_t{64} << 20;  // approximate, and the memory that is used; 1 byte to 512 MiB
};

// Saves all rows of existing tensors and of options.embeddings to the folder `uri`. Atomic: an incomplete save is never
// loaded. AlreadyExists: the folder holds a complete save, which is never overwritten; NotFound: a tensor that does not
// exist; Unavailable: its rows were lost during the call, or the store cannot be reached.
Status SaveTensors(const DistGraph& graph, const std::vector<TensorName>& tensors, const std::string& uri,
                   const SaveOptions& options = {});

struct LoadOptions {
  storage::StoreSettings stores = {};
  Lifetime lifetime = Lifetime::kPersistent;
};

struct LoadedTensors {
  std::vector<DistTensor> tensors;  // in the order in which they were saved
  std::map<std::string, std::string> notes;
};

// Creates the tensors that were saved in the folder `uri`, with their rows; embeddings are not loaded. After an error
// no tensor remains. NotFound: no complete save; DataLoss: a damaged file; AlreadyExists: a tensor of that name exists;
// FailedPrecondition: the save is of another graph. During the call other processes can open tensors whose rows are not
// loaded yet.
Result<LoadedTensors> LoadTensors(const DistGraph& graph, const std::string& uri, const LoadOptions& options = {});

// Returns the sorted names of the folders directly below `uri` that hold complete saves; folders with other manifests
// are skipped.
Result<std::vector<std::string>> ListSavedTensors(const std::string& uri, const storage::StoreSettings& stores = {});
// Deletes the save in the folder `uri` and what incomplete saves have left there, and no other file.
// FailedPrecondition: the folder holds something else. OK if it does not exist.
Status RemoveSavedTensors(const std::string& uri, const storage::StoreSettings& stores = {});

}  // namespace espalier::client
