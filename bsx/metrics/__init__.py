"""The metric zoo: one file for each metric, described by one entry in ``registry/metrics/``."""

from bsx.support.faces import callable_room

callable_room(__name__, "list_metrics")
