"""Settings of disentangling regressions: what `disentangle` and its companions take, and what the command shows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from bsx.data.long import COLUMN, ColumnName, ColumnNames
from bsx.errors import InputError
from bsx.support.settings import MOST_DRAWS, Alpha, BaseSettings, DrawSettings, Option, Resamples, Significance

DETAIL = Option(folded="detail")
ErrorChoice = Literal["auto", "classic", "hc3", "cluster"]


class ErrorSettings(BaseSettings):
    """Standard errors of a regression, and what becomes of rows without a number."""

    se: Annotated[
        ErrorChoice,
        Field(description="Kind of standard errors; auto: cluster where rows share a segment or a text, else hc3."),
        DETAIL,
    ] = "auto"
    cluster: Annotated[
        ColumnName,
        Field(description="Column of clusters for the standard errors; the bootstrap then draws whole clusters."),
    ] = None
    nan: Annotated[
        Literal["error", "omit"], Field(description="Refuse missing numbers, or leave such rows out for all metrics.")
    ] = "error"

    @model_validator(mode="after")
    def _clustered(self) -> Self:
        if self.cluster is not None and self.se not in ("auto", "cluster"):
            raise ValueError(f"cluster needs se cluster, not {self.se}")
        return self


class RegressionSettings(ErrorSettings):
    """The same of a regression that may have an intercept."""

    intercept: Annotated[bool, Field(description="Fit an intercept."), DETAIL] = False


class ComparisonSettings(DrawSettings, ErrorSettings):
    """How two metrics' coefficients are compared."""

    resamples: Resamples = 2000
    margin: Annotated[
        float | None,
        Field(
            gt=0, le=1e12, description="Largest difference of coefficients that does not matter: test equivalence too."
        ),
    ] = None


class DisentangleSettings(DrawSettings, Significance, RegressionSettings):
    """How metrics are regressed on factors, and what else is asked."""

    group: Annotated[ColumnName, Field(description="Column of groups to fit one by one and compare.")] = None
    resamples: Annotated[
        int, Field(ge=0, le=MOST_DRAWS, description="Resamples for bootstrap intervals; 0 for none.")
    ] = 0
    correction: Annotated[
        Literal["none", "holm", "bh"],
        Field(description="Correct p for the number of coefficients in a table, metrics x factors."),
    ] = "none"
    alpha: Annotated[Alpha, Option(python=True)] = 0.05
    margin: Annotated[
        float | None,
        Field(
            gt=0,
            le=1e12,
            description="Largest standardised coefficient that does not matter: test equivalence with 0 too.",
        ),
    ] = None
    reliability: Annotated[
        Mapping[str, float] | Sequence[str],
        Field(description="Share of a factor's variance that is not noise, sem=.7,…: correct for the rest."),
    ] = ()
    repeat: Annotated[
        Mapping[str, Sequence[str]] | ColumnNames,
        Field(description="Columns that measure one factor, sem=sem1,sem2,…: reliability from them."),
        COLUMN,
    ] = ()
    controls: Annotated[
        ColumnNames, Field(description="Columns to hold constant; length is counted in the texts.")
    ] = ()
    within: Annotated[
        Sequence[str],
        Field(description="Coefficients within the levels of a column, or of two: segment, system, segment,system."),
    ] = ()
    spline: Annotated[Sequence[str], Field(description="Factors to bend: what curves gain over straight lines.")] = ()

    @property
    def reliabilities(self) -> dict[str, float]:
        """Factor -> reliability, from a mapping or texts like ``sem=.7``."""
        if isinstance(self.reliability, Mapping):
            return dict(self.reliability)
        shares = {}
        for text in self.reliability:
            name, equals, value = text.rpartition("=")
            if name.strip() in shares:
                raise InputError(f"reliability: {name.strip()} is given twice", setting="reliability")
            try:
                shares[name.strip()] = float(value)
            except ValueError:
                equals = ""
            if not (name.strip() and equals):
                raise InputError(f"reliability: {text}: write FACTOR=NUMBER, such as sem=.7", setting="reliability")
        return shares

    @property
    def repeats(self) -> dict[str, list[str]]:
        """Factor -> columns that measure it, from a mapping or texts like ``sem=sem1``, ``sem2``."""
        if isinstance(self.repeat, Mapping):
            return {name: list(columns) for name, columns in self.repeat.items()}
        columns: dict[str, list[str]] = {}
        factor = ""
        for text in self.repeat:
            name, equals, column = text.partition("=")
            factor = name.strip() if equals else factor
            if not factor:
                raise InputError(
                    f"repeat: {text}: write FACTOR=COLUMN,COLUMN,…, such as sem=sem1,sem2", setting="repeat"
                )
            columns.setdefault(factor, []).append((column if equals else name).strip())
        return columns

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        both = self.reliabilities.keys() & self.repeats.keys()
        if both:
            raise ValueError(f"{min(both)}: give reliability or repeat, not both")
        repeated = [name for name in self.within if list(self.within).count(name) > 1]
        if repeated:
            raise ValueError(f"within: {repeated[0]} is named twice")
        if len(self.within) > 2:
            raise ValueError(f"within: {','.join(self.within)}: name one column or two")
        return self

    def check(self, metrics: Sequence[str], factors: Sequence[str]) -> None:
        """Refuse questions about what is not there.

        Raises:
            InputError: naming the setting.
        """
        of_factors = {"reliability": [*self.reliabilities], "repeat": [*self.repeats], "spline": self.spline}
        for setting, names in of_factors.items():
            if unknown := [name for name in names if name not in factors]:
                message = f"{setting}: {unknown[0]!r} is none of the factors {', '.join(factors)}"
                raise InputError(message, setting=setting)
        for name in self.controls:
            if name in metrics or name in factors:
                raise InputError(f"controls: {name!r} is a metric or factor already", setting="controls")
