events = spark.readStream.format("kafka").option("subscribe", "events").load()
spread = events.repartition(4)  # expect: continuous-operator
spread.writeStream.format("console").trigger(continuous="1 second").start()
