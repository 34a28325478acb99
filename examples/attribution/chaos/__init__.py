"""The demonstration under random faults: the plan, the faults, the processes of the pipeline, and the table."""
