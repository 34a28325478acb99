"""The demonstration under random faults: the plan, the faults, the pipeline's processes, and the report."""
