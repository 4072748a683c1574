"""An example series."""

from pathlib import Path


def air_passengers() -> Path:
    """A CSV file with the monthly airline passengers of Box and Jenkins: 144 months from 1949 on, in thousands."""
    return Path(__file__).parent / "air_passengers.csv"
