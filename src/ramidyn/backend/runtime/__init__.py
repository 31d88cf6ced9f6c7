"""Code that runs kernels over batches: driver, tiles, streaming, threads."""
