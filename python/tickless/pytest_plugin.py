"""The pytest plugin: fixtures and stored baselines for tests that watch performance."""
