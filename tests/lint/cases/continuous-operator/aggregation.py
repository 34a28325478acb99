events = spark.readStream.format("kafka").option("subscribe", "events").load()
counted = events.groupBy("key").count()  # expect: continuous-operator
counted.writeStream.format("console").trigger(continuous="1 second").start()
