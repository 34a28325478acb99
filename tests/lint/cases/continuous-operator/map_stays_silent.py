events = spark.readStream.format("kafka").option("subscribe", "events").load()
events.select("value").where("value IS NOT NULL").writeStream.format("console").trigger(continuous="1 second").start()
