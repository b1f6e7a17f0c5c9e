"""Each rank ends in a way of docs/exit-codes.md. Behind its line are the exit code and the beginning of its last
words, if it leaves any. Ranks whose code ends the job do so at once, the others when they are asked to stop."""

import os
import signal
import sys

signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])  # of all threads, which are started below

import espalier as ep  # noqa: E402

rank = int(os.environ["ESPALIER_RANK"])
g = ep.DistGraph()
ep.init_process_group(g).barrier()
if rank > 3:
    signal.sigwait([signal.SIGTERM])

if rank == 0:
    ep.sample_neighbors(g, [g.num_nodes()], 1)  # 65 espalier.errors.InvalidArgument
elif rank == 1:
    print(g.ndata["there-is-none"])  # 65 espalier.errors.NotFound
elif rank == 2:
    import there_is_none  # 64 ModuleNotFoundError
elif rank == 3:
    import broken  # 64 File "/etc/espalier/script/broken.py", line 1
elif rank == 4:
    raise ep.PermissionDenied("the bucket")  # 77 espalier.errors.PermissionDenied: the bucket
elif rank == 5:
    raise ep.Unavailable("the server")  # 74 espalier.errors.Unavailable: the server
elif rank == 6:
    raise ep.DeadlineExceeded("the server")  # 74 espalier.errors.DeadlineExceeded: the server
elif rank == 7:
    raise MemoryError("an array")  # 74 MemoryError: an array
elif rank == 8:
    print(1 // len(sys.argv[1:]))  # 70 ZeroDivisionError
elif rank == 9:
    sys.exit(7)  # 7
