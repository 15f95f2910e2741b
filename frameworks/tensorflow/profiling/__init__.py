"""What a step's time goes to, by the framework's own profiler."""
