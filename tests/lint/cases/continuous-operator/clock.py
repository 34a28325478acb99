from pyspark.sql import functions as F

events = spark.readStream.format("kafka").option("subscribe", "events").load()
stamped = events.withColumn("at", F.current_timestamp())  # expect: continuous-operator
stamped.writeStream.format("console").trigger(continuous="1 second").start()
