"""What whole studies, run at different times, say together: the page docs/repeatability.md."""
