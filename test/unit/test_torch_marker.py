"""What needs torch says so with the marker by which `make test-torch` chooses; CI would run it nowhere otherwise."""

from conftest import ROOT


def test_what_asks_for_torch_is_marked() -> None:
    files = [path for path in (ROOT / "test" / "unit").rglob("*.py") if 'importorskip("torch"' in path.read_text()]
    asking = [path for path in files if path.name != "test_torch_marker.py"]
    assert len(asking) >= 5
    assert not [path for path in asking if "pytestmark = pytest.mark.torch\n" not in path.read_text()]
