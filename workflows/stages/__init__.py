"""The short stages: detect frameworks, prepare data, collect records, set failures aside."""
