"""Export Prometheus metrics of a real-time query, with a canary, alert rules and a dashboard."""
