"""FIM that looks at each series twice, as a contender: `--models fim,looks=fimjax.evaluation.looks:two_looks`."""

from fimjax.forecasting.forecaster import Forecaster


def two_looks() -> Forecaster:
    """The default weights, whose forecasts by windows of one horizon and of one and a half are averaged."""
    return Forecaster.from_pretrained(views=("plain", "long"))
