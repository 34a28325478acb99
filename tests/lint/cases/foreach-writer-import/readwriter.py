from pyspark.sql.streaming.readwriter import ForeachWriter  # expect: foreach-writer-import
