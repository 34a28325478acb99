"""How late joins, timeouts and alarms are: one short run of an example each."""
