"""What one process does is seen by another."""

from __future__ import annotations

import os

import pytest

from collector.evaluation.progress import Place, Progress


@pytest.mark.parametrize("place", [Place(1, 0, False), Place(7, 63, True), Place(2, None, True), Place(3, None, False)])
def test_what_is_told_is_seen_through_another_descriptor(place: Place) -> None:
    parent = Progress()
    child = Progress(os.dup(parent.descriptor))
    assert parent.look() == Place(0, None, False)
    child.tell(place)
    assert parent.look() == place
    child.close()
    assert parent.look() == place
    parent.close()
    parent.close()
