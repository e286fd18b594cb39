"""A setting of one metric that is given to several says where it belongs."""

from __future__ import annotations

import re

import pytest

from bsx.bertscore.config import ScorerConfig
from bsx.catalog.catalog import shipped
from bsx.errors import InputError
from bsx.frames.metrics import SHARED, wanted_sides
from bsx.metrics.base import find_metric


@pytest.mark.parametrize("setting", sorted(set(ScorerConfig.model_fields) - SHARED))
def test_a_setting_of_one_metric_is_suggested_only_where_it_is_one(setting: str) -> None:
    catalog = shipped()
    for name in catalog.metrics:
        with pytest.raises(InputError, match=setting) as raised:
            wanted_sides([name], ScorerConfig.model_construct({setting}, **{setting: True}))
        suggested = re.search(r"write it as (\S+):(\w+)=", str(raised.value))
        assert (suggested is not None) == (setting in find_metric(name, catalog)[0].Config.model_fields)
        if suggested is not None:
            assert suggested.groups() == (name, setting)
