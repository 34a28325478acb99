from pyspark.sql.streaming import ForeachWriter  # expect: foreach-writer-import
