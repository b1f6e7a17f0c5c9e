// For the thread sanitizer only. Debian's abseil and gRPC are not instrumented: what their own synchronisation orders
// would be reported as races. The files beside this one tell the sanitizer what it orders, primitive by primitive: each
// function there has the name of the library's own and stands in front of it, for the library's calls too, because the
// dynamic linker takes the program's first.
//
// What they say is what the primitives promise, between the threads that use the same one, so that whoever shares
// nothing with another is still compared with it. Two things are coarser than the truth: a primitive orders its next
// taker after all who gave before, not only after the last; and the sanitizer itself takes all sockets for one. What
// libraries read and write by themselves is not looked at.
#pragma once

#include <dlfcn.h>

extern "C" {
void __tsan_acquire(void* address);
void __tsan_release(void* address);
}

namespace espalier::tsan {

// What this thread has done is over for whoever acquires the same address from now on.
inline void Release(void* address) { __tsan_release(address); }
inline void Acquire(void* address) { __tsan_acquire(address); }

// The library's function of this (mangled) name.
template <class Function>
Function* Next(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

}  // namespace espalier::tsan
