"""Grafana dashboards, written down in Python and kept as JSON: `python -m deploy.grafana` writes them anew."""
