"""Fixtures of tests that need Helm. Without Go they skip in one line, unless SPANJUDGE_REQUIRE names `helm`."""

from __future__ import annotations

import pytest

from tests.go_programs import NoGo
from tests.helm.building import custom_resources, helm_program
from tests.helm.rendering import Helm
from tests.helm.schemas import Schemas
from tests.integrations import require


@pytest.fixture(scope="session")
def helm() -> Helm:
    try:
        return Helm(helm_program())
    except NoGo as error:
        require("helm", False, str(error))
        raise


@pytest.fixture(scope="session")
def schemas() -> Schemas:
    try:
        return Schemas(custom_resources())
    except NoGo as error:
        require("helm", False, str(error))
        raise
