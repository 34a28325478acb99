events = spark.readStream.format("kafka").option("subscribe", "events").load()
events.writeStream.foreachBatch(lambda rows, number: rows.write.save("/out")).outputMode("update").trigger(realTime="5 minutes").start()  # expect: foreach-batch
