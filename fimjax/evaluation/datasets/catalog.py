"""The benchmark's data sets, as in table 3 of the paper."""

import dataclasses

from fimjax.errors import EvaluationError

SEASONS = {"D": 7, "W": 52}
"""Seasons of the frequencies for which table 3 gives none."""


@dataclasses.dataclass(frozen=True)
class DatasetInfo:
    """One row of table 3."""

    name: str
    season: int
    horizon: int
    series: int
    shortest: int
    longest: int
    """Lengths include the test part, which is the last `horizon` points."""
    erratic: int
    """Per cent of the series that the paper classifies as erratic."""
    frequency: str
    """Pandas alias of the frequency."""

    @property
    def reported_season(self) -> int:
        """The season that forecasters receive: the season of the frequency, as for a user's dates.

        Table 3 gives daily and weekly series no season. Statistical models and MASE follow the table; other forecasters
        receive 7 and 52.
        """
        return SEASONS.get(self.frequency, self.season)

    @property
    def competition(self) -> str:
        return self.name.split("_")[0]


CATALOG = {
    info.name: info
    for info in (
        DatasetInfo("m1_monthly", 12, 18, 617, 48, 150, 0, "MS"),
        DatasetInfo("m1_quarterly", 4, 8, 203, 18, 114, 0, "QS"),
        DatasetInfo("m1_yearly", 1, 6, 181, 15, 58, 0, "YS"),
        DatasetInfo("m3_other", 4, 8, 174, 71, 104, 0, "QS"),
        DatasetInfo("m3_monthly", 12, 18, 1428, 66, 144, 2, "MS"),
        DatasetInfo("m3_quarterly", 4, 8, 756, 24, 72, 1, "QS"),
        DatasetInfo("m3_yearly", 1, 6, 645, 20, 47, 10, "YS"),
        DatasetInfo("m4_hourly", 24, 48, 414, 748, 1008, 17, "h"),
        DatasetInfo("m4_daily", 1, 14, 4227, 107, 9933, 2, "D"),
        DatasetInfo("m4_weekly", 1, 13, 359, 93, 2610, 16, "W"),
        DatasetInfo("m4_monthly", 12, 18, 48000, 60, 2812, 6, "MS"),
        DatasetInfo("m4_quarterly", 4, 8, 24000, 24, 874, 11, "QS"),
        DatasetInfo("m4_yearly", 1, 6, 23000, 19, 841, 18, "YS"),
        DatasetInfo("tourism_monthly", 12, 24, 366, 91, 333, 51, "MS"),
        DatasetInfo("tourism_quarterly", 4, 8, 427, 30, 130, 39, "QS"),
        DatasetInfo("tourism_yearly", 1, 4, 518, 11, 47, 23, "YS"),
    )
}


def dataset_info(name: str) -> DatasetInfo:
    """The row of table 3 with this name."""
    if name not in CATALOG:
        raise EvaluationError(f"data set {name!r} is unknown; the data sets are {', '.join(CATALOG)}")
    return CATALOG[name]


def is_known(name: str) -> bool:
    """Whether this is the name of a data set or of a competition of the benchmark."""
    return any(name in (info.name, info.competition) for info in CATALOG.values())
