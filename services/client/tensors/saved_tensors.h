// Saves distributed tensors in a store and loads them, for checkpoints that a program writes itself. Saved tensors can
// be loaded under any partitioning of the same graph and with any number of servers (docs/saved-tensors.md).
//
//   RETURN_IF_ERROR(SaveTensors(*graph, {{RowSpace::Nodes(paper), "visits"}}, folder + "/000012",
//                               {.notes = {{"epoch", "12"}}}));
//
//   ASSIGN_OR_RETURN(const std::vector<std::string> saved, ListSavedTensors(folder));  // in the next incarnation
//   ASSIGN_OR_RETURN(LoadedTensors loaded, LoadTensors(*graph, folder + "/" + saved.back()));
//
// One process calls SaveTensors, LoadTensors or RemoveSavedTensors; no other process may write to the tensors during
// the call. In programs with several ranks, all ranks call a barrier before and after it, except for a save that has
// only embeddings.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "services/client/tensors/dist_tensor.h"
#include "services/sampler/routing/embedding_store.h"
#include "services/storage/store_settings.h"

namespace espalier::client {

struct TensorName {
  RowSpace rows;  // for own rows, RowSpace::Own() without the number of rows is enough
  std::string name;
};

struct SaveOptions {
  std::map<std::string, std::string> notes = {};  // key-value pairs of the program, in UTF-8, such as the step number
  // Embeddings to save with the tensors; no two may have the same name and row space. Each embedding is saved at the
  // version that it has on this rank (DistEmbedding::Now, EmbeddingTable::Now), and this rank must not take a step with
  // it before SaveTensors returns. Other ranks may be one step ahead; they wait for this rank. SavedEmbedding
  // (saved_embeddings.h) loads saved embeddings.
  std::vector<sampler::EmbeddingAt> embeddings = {};
  storage::StoreSettings stores = {};  // settings for an s3:// URI
  // Approximate size of each file of a tensor, 1 byte to 512 MiB. For an embedding, the file of values and the file of
  // state for the same rows have about this size together. Memory holds one file at a time.
  size_t bytes_per_file = size_t{64} << 20;
};

// Saves all rows of existing tensors and of options.embeddings to the folder `uri`. Every save needs a separate folder.
// Atomic: an incomplete save is never listed or loaded. AlreadyExists: the folder already contains saved tensors, which
// are never overwritten. NotFound: a tensor does not exist. InvalidArgument: a tensor or embedding is given twice, or
// bytes_per_file is out of range. Unavailable: rows were lost during the save, or the store cannot be reached.
Status SaveTensors(const DistGraph& graph, const std::vector<TensorName>& tensors, const std::string& uri,
                   const SaveOptions& options = {});

struct LoadOptions {
  storage::StoreSettings stores = {};  // settings for an s3:// URI
  Lifetime lifetime = Lifetime::kPersistent;
};

struct LoadedTensors {
  std::vector<DistTensor> tensors;           // in the order of SaveTensors
  std::map<std::string, std::string> notes;  // SaveOptions::notes
};

// Creates the tensors that were saved in the folder `uri`, with their rows. Saved embeddings are not loaded. An error
// drops all tensors that the call has created. During the call other processes can open tensors whose rows are not all
// loaded yet.
// NotFound: nothing was saved there. DataLoss: a file is damaged. AlreadyExists: a tensor with the name and row space
// of a saved one exists. FailedPrecondition: the tensors were saved for another graph.
Result<LoadedTensors> LoadTensors(const DistGraph& graph, const std::string& uri, const LoadOptions& options = {});

// Returns the sorted names of the folders directly below `uri` that contain saved tensors. Folders with another kind of
// manifest are skipped.
Result<std::vector<std::string>> ListSavedTensors(const std::string& uri, const storage::StoreSettings& stores = {});
// Removes the saved tensors in the folder `uri` and the files of incomplete saves in it. Other files and folders below
// it stay. OK if the folder does not exist. FailedPrecondition: the folder contains another kind of manifest.
Status RemoveSavedTensors(const std::string& uri, const storage::StoreSettings& stores = {});

}  // namespace espalier::client
