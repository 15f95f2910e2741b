"""What the literature claims about speed: its numbers, its claims, and a verdict on each."""
