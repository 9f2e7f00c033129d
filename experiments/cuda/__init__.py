"""Proofs about the kernels for GPUs that need no GPU: what the compiler makes of them, and the same results from it."""
