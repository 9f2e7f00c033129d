"""Random baseline: draws each action uniformly from the legal ones."""

from felicity_env.player import random_action

action = random_action
