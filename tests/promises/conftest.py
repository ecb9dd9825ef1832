"""Let assertions in shared code explain themselves as those of tests do."""

import pytest

for name in ("calls", "crowd", "invariants", "model", "replay"):
    pytest.register_assert_rewrite(f"tests.promises.{name}")
