"""Training is compiled with torch.compile where that is possible, and says what is missing where it is asked to be."""

import pytest

from agents.tools.files import UserError
from tests.support.selfplay_runs import create_trainer
from train import compilation


def test_networks_on_a_gpu_are_compiled_if_nothing_is_missing(monkeypatch):
    monkeypatch.setattr(compilation, "list_missing_tools", lambda: [])
    assert compilation.choose_compilation("auto", on_gpu=True)
    assert compilation.choose_compilation("yes", on_gpu=True)
    assert not compilation.choose_compilation("no", on_gpu=True)
    assert not compilation.choose_compilation("auto", on_gpu=False)


def test_what_is_missing_is_named_only_if_it_was_asked_for(monkeypatch, tmp_path):
    monkeypatch.setattr(compilation, "find_spec", lambda name: None)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("CC", "no-such-compiler")
    monkeypatch.setattr(compilation.sysconfig, "get_path", lambda name: str(tmp_path))
    assert not compilation.choose_compilation("auto", on_gpu=True)
    message = "--torch-compile yes needs Triton and a C compiler and the header Python.h"
    with pytest.raises(UserError, match=message):
        compilation.choose_compilation("yes", on_gpu=True)


def test_networks_on_a_cpu_are_not_compiled(tmp_path):
    with pytest.raises(UserError, match="--torch-compile yes needs networks on a GPU"):
        create_trainer(tmp_path / "run", torch_compile="yes")
