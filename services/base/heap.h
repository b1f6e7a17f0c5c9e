// Settings of the C library's heap for processes that receive or compute bulk data. Call each function at most once,
// before other threads start.
#pragma once

namespace espalier {

// Keeps up to 32 MiB of freed memory at the end of each heap arena instead of returning everything beyond 128 KiB to
// the system, and allocates blocks of up to 32 MiB from the heap. gRPC receives messages into blocks that it frees
// soon; memory taken from the system again costs a page fault per 4 KiB, about as much as copying the bytes.
void KeepFreedMemory();

// Limits the heap to one arena per processor; the C library's default is eight per processor. Freed memory is only
// reused by threads of the same arena, so fewer arenas waste less memory.
void ShareArenas();

}  // namespace espalier
