"""Export what a real-time query does as Prometheus metrics, with a canary, alert rules and a dashboard."""
