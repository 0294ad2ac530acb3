"""Tests of the stores; the contract they share lives in `tests.contracts`."""

import pytest

pytest.register_assert_rewrite("tests.contracts.store")
