"""Export Prometheus metrics for a real-time query, with a canary, alert rules and a dashboard."""
