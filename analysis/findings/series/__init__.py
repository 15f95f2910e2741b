"""The machine's speed and limit, what steps take of it and where their time goes, and what changes
from study to study."""
