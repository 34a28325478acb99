"""Define the evidence that docstrings of lint rules cite by label: the test of their examples, and public sources."""

AZURE = "https://learn.microsoft.com/en-us/azure/databricks/structured-streaming"
SDK = "https://databricks.github.io/sdk-js/api"
ERROR_LIST = "https://docs.databricks.com/gcp/en/error-messages/streaming-real-time-mode-error-class"

CITATIONS = {
    "async": f'{AZURE}/async-progress-checking "read 2026-11-23"',
    "error list": f'{ERROR_LIST} "read 2026-11-23"',
    "guide": 'https://spark.apache.org/docs/4.3.0/streaming/real-time-mode.html "read 2026-11-23"',
    "limitations": f'{AZURE}/real-time/limitations "read 2026-11-23"',
    "instances": f'{SDK}/interfaces/_databricks_sdk-jobs.v2.AwsAttributes.html "read 2026-11-24"',
    "pipelines": 'https://learn.microsoft.com/en-us/azure/databricks/ldp/real-time "read 2026-11-24"',
    "reference": f'{AZURE}/real-time/reference "read 2026-11-23"',
    "setup": f'{AZURE}/real-time/setup "read 2026-11-23"',
    "test": "../tests/lint/test_lint_programs_on_spark.py",
    "triggers": 'https://docs.databricks.com/aws/en/structured-streaming/triggers "read 2026-11-20"',
}
"""The address of each source, with the date on which we read it."""
