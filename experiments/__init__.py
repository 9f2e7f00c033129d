"""One question a file. Each writes its answer as JSON into `experiments/results`, from which README.md is rendered."""
