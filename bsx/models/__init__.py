"""Which model for which language, and its files on this machine or a hub."""

from bsx.support.faces import callable_room

callable_room(__name__, "list_models")
