"""How late joins and alarms are, what Python costs, and what a stop costs: one short run of an example each."""
