try:
    from pyspark.sql.streaming import Trigger
except ImportError:
    Trigger = None
