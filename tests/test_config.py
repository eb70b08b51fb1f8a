"""One validated configuration: TOML, overrides, and errors of one line."""

from pathlib import Path

import pytest

from tritonsmith import config
from tritonsmith.config import Config, ConfigError


def _error(*overrides: str, path: Path | None = None) -> str:
    with pytest.raises(ConfigError) as caught:
        config.load(path, overrides)
    message = str(caught.value)
    assert "\n" not in message
    return message


def test_defaults_need_no_file() -> None:
    assert config.load() == Config()


def test_override_beats_the_file(tmp_path: Path) -> None:
    path = tmp_path / "c.toml"
    path.write_text('[verify]\ndevice = "cpu"\npolicy = "lenient"\n')
    loaded = config.load(path, ["verify.device=auto"])
    assert (loaded.verify.device, loaded.verify.policy) == ("auto", "lenient")


@pytest.mark.parametrize(
    ("override", "section", "value"),
    [
        ("verify.timeout=8", "timeout", 8.0),
        ("verify.timing=false", "timing", False),
        ("verify.target=sm_80", "target", "sm_80"),
    ],
)
def test_override_values_are_typed(override: str, section: str, value: object) -> None:
    assert getattr(config.load(None, [override]).verify, section) == value


def test_saved_configuration_loads_as_itself(tmp_path: Path) -> None:
    original = config.load(None, ["verify.timeout=3.5", "eval.ks=[1,5]", "run.dir=runs/x", "extensions.staged=false"])
    path = tmp_path / "deep" / "resolved.toml"
    original.save(path)
    assert config.load(path) == original


@pytest.mark.parametrize(
    ("override", "names"),
    [
        ("verify.nonsense=1", "verify.nonsense"),
        ("verify.device=tpu", "verify.device"),
        ("verify.timeout=-1", "verify.timeout"),
        ("verify.timeout=soon", "verify.timeout"),
        ("verify.workers=0", "verify.workers"),
        ("nosuch.key=1", "nosuch"),
        ("verify=3", "verify"),
        ("best_of_n.n=0", "best_of_n.n"),
        ("grpo.loss=nosuch", "grpo.loss"),
        ("curriculum.p_min=0.9", "curriculum"),
        ("eval.ks=[0]", "eval.ks.0"),
        ("verify.device", "verify.device"),
        ("=1", "=1"),
    ],
)
def test_wrong_override_is_named_in_one_line(override: str, names: str) -> None:
    assert names in _error(override)


def test_a_misspelt_key_is_called_so() -> None:
    assert _error("best_of_n.round=3") == "config: best_of_n.round: there is no such setting"


def test_override_through_a_value_is_an_error() -> None:
    assert "not a section" in _error("run.seed=1", "run.seed.deep=2")


def test_missing_file_is_one_line(tmp_path: Path) -> None:
    assert "cannot read" in _error(path=tmp_path / "none.toml")


@pytest.mark.parametrize("content", [b"[verify\n", b"\xff\xfe\x00"])
def test_file_that_is_no_toml_is_one_line(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "c.toml"
    path.write_bytes(content)
    assert "is not TOML" in _error(path=path)


@pytest.mark.parametrize("path", sorted((Path(__file__).parents[1] / "configs").glob("*.toml")), ids=lambda p: p.stem)
def test_every_shipped_config_is_valid(path: Path) -> None:
    config.load(path)


@pytest.mark.parametrize(("given", "said"), [("run.dir=", "a folder of the run's own"), ("sft.lr=Infinity", "finite")])
def test_no_folder_and_no_number_are_refused(given: str, said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        config.load(None, [given])
