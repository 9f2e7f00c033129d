"""Tools that the commands of `agents`, `train` and `experiments` share: files, provenance, settings, command lines."""
